"""Leave the parts of a source out that the globs of `ignore` name, and count them.

Layouts do not know of it: `filtered_folder` hides files from them, and `ignoring_source` counts these.
"""
