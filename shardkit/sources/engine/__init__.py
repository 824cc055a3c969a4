"""Execute a reading: strictly, without search and without fallback.

`opening` completes a reading by looking at its label files (with `table_opening` and `annotation_opening`) and returns
its `ReadingSource` of `source`: parts, rows, and the proof of `accounting` that every file is accounted for. One
`Driver` enumerates the examples: that of the boxes, else that of the label, if its origin is files (`records` and the
modules that build on it, `tables`); else the folders (`drivers`). It needs no memory that grows with the data. The
other facts (`facts`, `lists`, `tables`, `masks`) are looked up by key; those from files are read once in each process.
`matching` and `paths` lead from the text that names an image to its key.
"""
