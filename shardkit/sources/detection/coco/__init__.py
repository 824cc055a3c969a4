"""COCO's JSON.

`files` finds and checks the label files, `columns` reads annotations, `layout` pairs them with images.
"""
