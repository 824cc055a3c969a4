"""The Python interface: `shardkit.convert`, `plan`, `append`, `adopt` and `verify`, which the commands call too.

Here: their signatures, and the reading of what users give. Everything heavy is imported inside the functions.
"""
