"""Archives, and several sources, as read-only folders, so that every layout of files also works inside them.

Here belong the formats of archives, the tree of folders that their entries form, what is unpacked into the work folder,
and `MountedFolder`, which shows several folders and archives as one tree. What the files in them mean
belongs to `shardkit.sources`, which also reads WebDataset's shards.
"""
