"""Zip and tar files as read-only folders, so that every layout of files also works inside an archive.

Here belong the formats of archives, and the tree of folders that their entries form. What the files in them mean
belongs to `shardkit.sources`, which also reads WebDataset's shards.
"""
