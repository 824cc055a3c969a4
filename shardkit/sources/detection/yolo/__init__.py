"""YOLO of Ultralytics and darknet.

`data_yaml` and `darknet` read the list of classes and folders, `labels` reads one file, `layout` pairs them.
"""
