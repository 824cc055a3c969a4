"""The inventory: every file of a source and the result of checking it, as columns sorted by key.

| module | contents |
|---|---|
| `columns` | columns of an inventory, rejected rows, and the features that columns become |
| `source_files` | reading the image and the mask of a row: files, parts of files, records of a dataset |
| `checking` | merging small listings, looking up sizes, decoding every image, and hashing it |
| `parts` | the files in which workers store their rows; the `Inventory` that is read from them, which planning takes |
| `table` | the whole table, in little memory; digests of columns, and the fingerprint of a source |

Listing a source belongs in `sources`, decisions about its examples in `planning`.
"""
