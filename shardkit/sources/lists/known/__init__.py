"""Read well-known datasets whose authors distribute the labels in a form that the general list files do not cover.

`celeba`, `cub`, `imagenet` and `oxford_pets` have a dataset each, or its relatives. `class_folder_datasets` has
those of class folders in a folder of a known name and their reader, `fixed_columns` a reader that several share, and `mat_files` refuses labels in MATLAB's files.
"""
