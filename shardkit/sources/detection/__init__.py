"""Read the layouts of object detection: a package or a module for each format.

What they share is in `paired_files` (an annotation file for each image), in `found_files` (few files that name many
images), in `image_paths` and in `rows`. COCO reads its file into columns instead.
"""
