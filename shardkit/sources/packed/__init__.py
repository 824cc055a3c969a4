"""Files that contain the images themselves: WebDataset archives and Hugging Face Parquet files."""
