"""Read YOLO's labels, as Ultralytics and darknet write them.

`data_yaml` reads the class names and the folders, `image_folders` finds them also where darknet's file or no file names
them, `labels` parses one label file, `pairs` finds the label file of each image, and `layout` lists.
"""
