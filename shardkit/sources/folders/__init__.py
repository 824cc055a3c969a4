"""Read folders of image files whose labels are in the names of folders or files, in masks, or in a metadata file.

Layouts that read boxes are in `detection`. The reading of tables, once one is chosen, is in `tables`.
"""
