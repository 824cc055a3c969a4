"""Read text files that list images with their labels and splits, and the well-known datasets that consist of them.

| module | contents |
|---|---|
| `finding`, `opening_lists` | the list files of a folder, and the choice of what opens them |
| `list_files`, `list_forms` | one list file, and how it is to be read |
| `list_labels`, `class_names` | what the labels are, and names for integer labels |
| `named_images` | the images that lists name, as hashes |
| `records` | the interface of the readers |
| `layout` | the layout `list` |
| `known` | datasets whose authors distribute the labels in a form of their own |

A table with a header belongs in `tables`.
"""
