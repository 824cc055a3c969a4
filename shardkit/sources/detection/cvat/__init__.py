"""CVAT for images 1.1: one XML file of all images. `images` parses it, `layout` finds and lists."""
