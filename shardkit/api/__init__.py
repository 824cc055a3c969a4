"""The Python interface: `shardkit.convert`, `plan`, `append`, `adopt` and `verify`, which the commands call too.

Here: their signatures. `conversion.arguments` and `conversion.option_values` read what users give. Everything heavy is
imported inside the functions.
"""
