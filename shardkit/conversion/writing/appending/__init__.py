"""Append examples to a dataset as a generation: a folder of its own in the dataset's folder, written by a conversion.

| module | contents |
|---|---|
| `options` | the options of the conversion, taken from the dataset |
| `addition` | what the conversion asks the dataset: features, keys, duplicates, groups |
| `old_images` | the images of the dataset that new ones are near to |
| `merging` | the manifest of the dataset with the new generation |
| `append` | the whole run: lock, conversion, publishing |
"""
