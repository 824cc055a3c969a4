"""COCO: its columns of images and annotations, joined by the id of the image."""
