"""Tables that name images: the file formats CSV, TSV, JSON Lines and Parquet, and the roles of their columns.

The readers of table files are also used by Hugging Face's layouts in `folders` and `packed`.
"""
