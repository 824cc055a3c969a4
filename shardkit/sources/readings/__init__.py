"""How a source is read, as a value: which files are examples, and where each fact of an example comes from.

`values` has the values, `text` their YAML and JSON, `flags` their short form on the command line. Nothing here opens a
file: `sources.engine` executes a reading.
"""
