"""Layouts made of folders of images: class folders, labels in file names, masks, Hugging Face image folders."""
