"""Append examples to a dataset as a generation: a folder of its own in the dataset's folder, written by a conversion.

| module | contents |
|---|---|
| `addition` | what the conversion asks the dataset: features, keys, duplicates, groups |
| `old_images` | the images of the dataset that new ones are near to |
| `append` | the whole run: lock, conversion, publishing the manifest with the new generation |
"""
