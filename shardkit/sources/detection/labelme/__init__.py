"""Labelme: one JSON file per image. `shapes` parses a file, `files` finds files and images, `layout` lists."""
