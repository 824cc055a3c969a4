"""Layouts of image files in folders: class folders, labels in file names, masks, Hugging Face image folders.

Layouts that read boxes are in `detection`, tables that are not next to their images in `tables`.
"""
