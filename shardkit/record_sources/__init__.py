"""Sources whose files hold whole records, images included: Parquet, WebDataset, TFRecords and shardkit's own datasets.

They read no tree: the rooms of `sources` find images in folders and labels beside them, and have the interface of all.
"""
