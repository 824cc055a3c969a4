"""Decide the split of every example: by the source, by hash or by class, with groups kept together.

`own_splits` decides what the options mean for a source with splits of its own. `assign_splits` chooses between the
methods in `splitting` and `stratifying`; `grouping` finds the examples that must share a split; `unsplit` rejects
images without a split in a source whose other images have one. Shards are assigned in `planning`.
"""
