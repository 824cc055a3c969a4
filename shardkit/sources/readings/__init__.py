"""How a source is read, as a value: which files are examples, and where each fact of an example comes from.

`values` has the values, `text` their YAML and JSON, `flags` their short form on the command line, `given` the reading
that all options of a call say. Nothing here opens a file of a source: `sources.engine` executes a reading.
"""
