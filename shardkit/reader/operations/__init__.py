"""Order, lookup, draws, crops and reading as TensorFlow operations, for graphs that other processes run.

They cannot call Python, so what `shardkit.fetch` does by NumPy is here again, number for number, which tests compare.
Nothing that runs in this process uses it.
"""
