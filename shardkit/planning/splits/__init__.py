"""Decide the split of every example: by the source, by hash or by class, with groups kept together.

`assign_splits` chooses between the methods in `splitting` and `stratifying`; `grouping` finds the examples that must
share a split; `unsplit` reports classes that a split misses. Shards are assigned in `planning`.
"""
