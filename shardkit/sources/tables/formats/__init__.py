"""The file formats of tables: CSV, TSV, JSON Lines and Parquet, read as records of typed values.

`records` has the interface; `values` converts fields. What a column means is decided in `tables`.
"""
