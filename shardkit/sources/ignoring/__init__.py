"""`--ignore GLOB`: leave parts of a source out, and count them.

Belongs here: the globs, a folder that hides files, the source that counts them. Layouts do not know of it.
"""
