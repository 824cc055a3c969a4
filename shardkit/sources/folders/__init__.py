"""Read folders of image files whose labels are in the names of folders or files, in masks, or in a metadata file.

| module | contents |
|---|---|
| `class_folders`, `class_tree` | class folders, and how a tree of folders is read |
| `split_folders` | the names of folders that mean splits |
| `file_names`, `flat_folders` | labels in file names, and images without label folders |
| `unlabelled` | images without labels |
| `metadata` | Hugging Face's image folders |
| `masks` | segmentation |
| `adjacent_tables` | whether a table in the folder says what the images are |
| `without_images`, `unsupported_formats` | folders and files that hold no image that is read |
| `source_place` | where a tree is in the source, for the commands of a refusal |

Layouts that read boxes are in `detection`. The reading of tables, once one is chosen, is in `tables`.
"""
