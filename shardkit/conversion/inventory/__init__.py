"""The inventory: every file of a source and the result of checking it, as columns sorted by key.

| module | contents |
|---|---|
| `merged_listings` | the listings of many small parts, merged |
| `schema` | columns of an inventory, and rejected rows |
| `columns` | from columns to the features of an example |
| `measuring` | sizes and times that a listing left open |
| `source_files` | reading the image and the mask of a row: files, parts of files, records of a dataset |
| `checking` | decoding every image, and hashing it |
| `parts` | the files in which workers store their rows |
| `table` | the whole table, in little memory |
| `digests` | digests of columns, and the fingerprint of a source |
| `inventory` | `Inventory`, the value that planning takes |

Listing a source belongs in `sources`, decisions about its examples in `planning`.
"""
