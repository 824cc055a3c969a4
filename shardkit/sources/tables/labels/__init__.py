"""Find and read a table's labels: which columns hold them, of which kind they are, and the label of each record.

`label_columns` finds the columns, `indicators` recognises one column for each class, `kinds` decides how they are read,
`numbers` and `profile` look at the values, `reading` reads a record's label.
"""
