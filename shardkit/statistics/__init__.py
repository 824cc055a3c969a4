"""What `shardkit info` says about a dataset besides its manifest. Memory does not grow with the dataset.

| module | contents |
|---|---|
| `indexes` | image sizes, changes, labels per image: exact; the annotations of evenly spaced examples |
| `repeated` | examples with the same or nearly the same content, and whether their labels or splits differ |
| `annotations` | boxes, mask values and numbers of such a sample |

Printing belongs in `cli`.
"""
