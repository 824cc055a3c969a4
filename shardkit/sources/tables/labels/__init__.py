"""Labels of a table: which columns hold them, of which kind they are, and how each record's label is read.

`choice` finds the columns, `kinds` decides how they are read, `numbers` and `profile` look at the values, `reading`
reads a record's label.
"""
