"""Read text files that list images with their labels and splits; a table with a header belongs in `tables`.

`known` has datasets whose authors distribute the labels in a form of their own.
"""
