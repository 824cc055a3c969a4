"""Read COCO's JSON: boxes with their polygons, or classes of whole images."""
