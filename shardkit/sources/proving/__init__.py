"""Prove that a source that nobody has said how to read is meant as it was recognised; ask the user where it is not.

| module | has |
| --- | --- |
| `evidence` | what there is: examples as the reading lists them, files that it leaves |
| `proof` | all doubts about a reading: liberties, what is left over |
| `image_contents` | what only the bytes of a few examples tell |
| `class_trees`, `class_names`, `label_columns`, `words` | doubts about folders, names of classes, columns |
| `offers`, `table_offers`, `path_offers`, `mask_offers` | other readings that may be meant |
| `asking` | the question, with readings that account for every file |

A doubt is a clause. It can only turn acting into asking: nothing here reads a source otherwise than it was recognised.
"""
