"""Read Labelme's files: a JSON file for each image."""
