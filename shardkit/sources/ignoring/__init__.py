"""Leave the parts of a source out that `ignore=GLOB` names, and count them.

`globs` has the globs, `filtered_folder` the folder that hides files, `ignoring_source` the source that counts them.
Layouts do not know of it.
"""
