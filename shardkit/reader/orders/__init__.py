"""The training orders of shardkit.order as TensorFlow ops, and the choice of one for a table.

Every op returns the same numbers as its NumPy reference in `shardkit.order`, which tests compare. Which examples there
are is in `table`; how their records are read is in `records`.
"""
