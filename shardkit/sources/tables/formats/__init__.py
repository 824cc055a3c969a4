"""Read the file formats of tables as records of typed values: CSV, TSV, JSON Lines, JSON, Parquet and Excel.

`records` has the interface; `values` converts fields; `lines` reads lines of bounded length. `csv_files`, `json_files`,
`parquet_files` and `excel_files` have a format each. What a column means is decided in `tables`.
"""
