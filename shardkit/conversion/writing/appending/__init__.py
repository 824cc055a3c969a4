"""Append examples to a dataset as a generation: a folder of its own in the dataset's folder, written by a conversion.

| module | contents |
|---|---|
| `addition` | what the conversion asks the dataset: features, keys, duplicates, groups |
| `search` | which keys, contents, groups and near images the dataset has |
| `append` | the whole run: lock, conversion, publishing the manifest with the new generation |
"""
