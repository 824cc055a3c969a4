"""List files: text files that give images their labels and splits, and the well-known datasets that consist of them.

`list_files` and `class_names` are the general part. A module of one dataset belongs here if its authors distribute the
labels in a form of their own; a table with a header belongs in `tables`.
"""
