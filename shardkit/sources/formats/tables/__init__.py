"""Read the files of tables as records of typed values: CSV, TSV, JSON Lines, JSON, Parquet and Excel.

What a column means is decided in `engine`, and by `recognising` where nobody says it.
"""
