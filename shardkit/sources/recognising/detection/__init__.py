"""Find the files of boxes and their images.

`of_many_images` finds files with a record for each image, `of_one_image` those that are about one image each. The
beginning of a file tells its format. What a format alone knows is in `coco`, `yolo`, `box_tables`, `image_sets`.
"""
