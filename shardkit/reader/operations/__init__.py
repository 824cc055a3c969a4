"""The plan of `shardkit.fetch` and its reading as TensorFlow operations, for graphs that other processes run.

They cannot call Python. Nothing that runs in this process uses it.
"""
