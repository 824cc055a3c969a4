"""Read COCO's JSON: boxes with their polygons, or classes of whole images.

`files` finds the annotation files and the folders of their images, `kinds` tells what the annotations of a file are,
`columns` reads boxes and `classes` reads classes of whole images. `layout` joins them with the images.
"""
