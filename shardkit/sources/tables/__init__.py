"""Tables that name images: CSV, TSV, JSON Lines and Parquet files, their columns, labels, paths and splits."""
