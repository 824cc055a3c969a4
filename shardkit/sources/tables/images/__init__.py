"""Find a table's images: the column that names them, prefixes of paths, and folders nearby.

`image_column` finds the column, `image_folder` the folder; `lookup` finds files by inexact names, `nearby` in other
folders; `prefixes` replaces the beginning of paths from other machines. `tables/paths.py` turns paths into keys.
"""
