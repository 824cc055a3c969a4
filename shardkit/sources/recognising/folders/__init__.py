"""Recognise folders of images whose labels are in the names of folders or files, in masks, or in a metadata file."""
