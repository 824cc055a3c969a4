"""Layouts of object detection: COCO, Pascal VOC and YOLO, a package each.

Its module `layout` has the Source; the others find its files, parse its labels and pair them with images. `rows` checks
boxes for all of them.
"""
