"""List files: text files that give images their labels and splits, and the well-known datasets that consist of them.

`list_files`, `list_forms` and `class_names` are the general part; `known` has the datasets whose authors distribute the
labels in a form of their own. A table with a header belongs in `tables`.
"""
