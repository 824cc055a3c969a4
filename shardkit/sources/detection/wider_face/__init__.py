"""WIDER FACE: a list of images and faces for each split."""
