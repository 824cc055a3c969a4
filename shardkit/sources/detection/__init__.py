"""Layouts of object detection: COCO, Pascal VOC and YOLO.

Each has one module with its Source, and modules that find its files, parse its labels and pair them with images.
"""
