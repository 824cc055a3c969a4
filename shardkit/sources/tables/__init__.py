"""Read tables that name images: the roles of their columns, their labels, and how their paths find images.

| module | contents |
|---|---|
| `formats` | CSV, TSV, JSON, Parquet and Excel files as records |
| `roles`, `columns` | the role of each column, and how a record becomes a row |
| `column_names`, `split_names` | usual names of columns and splits |
| `images`, `paths` | where the images are, and keys of paths |
| `labels` | which columns hold labels, and how they are read |
| `split_tables` | one table for each split |
| `unlisted` | images that the table does not name |
| `refusals` | refusals with the commands that read the table |
| `layout` | the layout `table` |

Roles and formats are also used by Hugging Face's layouts in `folders` and `packed`.
"""
