"""Check the arguments of functions that users call in Python, without TensorFlow: one rule and one message for each.

The options of a conversion are checked by their definitions in `shardkit.options`.
"""
