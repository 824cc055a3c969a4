"""Boxes in files of formats that nobody entered: their fields are found by names and values, and checked by the images.

What belongs here reads any JSON, YAML, XML or text. A format whose meaning its numbers do not tell has a parser of its
own in `box_json`.
"""
