"""Read YOLO's labels, as Ultralytics and Darknet write them: a text file for each image, and the classes' names."""
