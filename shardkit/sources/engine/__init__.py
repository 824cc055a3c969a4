"""Execute a reading: strictly, without search and without fallback.

| module | does |
| --- | --- |
| `opening` | completes a reading, by looking at its label files, and returns its `Source` |
| `source` | `ReadingSource`: parts, rows and the proof that every file is accounted for |
| `drivers` | what enumerates the examples: `TreeDriver` lists the images of folders |
| `tables` | `TableDriver`: the records of tables, in pieces; tables that are joined by key |
| `table_opening`, `column_labels` | open tables: the column that names images, and what the labels are |
| `tree_with_records` | folders whose images have labels in tables or else in their paths |
| `facts` | facts that are added to a row by its key: from its path, from lists and tables |
| `masks`, `mask_paths` | the mask of an example by a template of its path, and the masks that are of no image |
| `matching` | from the text that names an image to its key |
| `annotations`, `annotation_opening`, `naming_files` | `AnnotationDriver`: the records of files that name many images |
| `mask_annotations` | `MaskDriver`: records that name masks |
| `path_rules`, `rows`, `split_words` | keys from paths that label files write; rows with boxes; words for splits |
| `columns`, `labels` | roles of a table's columns; what its values say about labels |
| `lookup`, `prefixes`, `joined_names`, `prefix_folders`, `described_images` | images that names in tables mean |
| `unannotated` | images that no record names |
| `accounting` | which files need no fact, and which files nothing explains |

Exactly one driver enumerates: that of the boxes, else that of the label, if its origin is files; else the folders. It
needs no memory that grows with the data. The other facts are looked up by key; those from files are read once in each
process.
"""
