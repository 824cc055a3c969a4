"""Read files that contain the images: WebDataset archives and Hugging Face Parquet files.

Archives of ordinary folders are not here: every layout reads them through `shardkit.archives`.
"""
