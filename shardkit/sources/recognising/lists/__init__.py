"""Recognise text files that list images with their labels and splits; a table with a header belongs in `tables`."""
