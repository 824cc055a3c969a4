"""Read tables with one row per box: CSV, TSV, JSON Lines and Parquet.

`columns` decides what the columns mean, `files` finds tables in a folder, `tables` opens one and the names of Open
Images' classes, `boxes` reads one record, `join_rows` joins the rows of each image, `layout` lists.
"""
