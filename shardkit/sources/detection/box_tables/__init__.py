"""Read tables with one row per box: CSV, TSV, JSON Lines and Parquet.

`columns` decides what the columns mean, `files` finds tables in a folder, `tables` opens one, `boxes` reads one record,
`join_rows` joins the rows of each image, `open_images` names the classes of Open Images, `layout` lists.
"""
