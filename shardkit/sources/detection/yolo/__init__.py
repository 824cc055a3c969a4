"""Read YOLO's labels, as Ultralytics and darknet write them.

`data_yaml` and `darknet` read the class names and the folders, `image_folders` finds them where no file names them,
`labels` reads one label file, `pairs` finds the label file of each image, and `layout` lists.
"""
