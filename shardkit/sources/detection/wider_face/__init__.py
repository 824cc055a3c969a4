"""WIDER FACE: a list of images and faces for each split. `faces` parses it, `layout` finds and lists."""
