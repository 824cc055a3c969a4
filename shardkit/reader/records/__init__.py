"""Read the records of a split, and recover from damaged ones.

Here are the instructions of what to read, the readers of single records, ranges and blocks, parsing, and everything
that happens when a record is damaged or its image does not decode. Which examples there are is in `table`, their order
in `orders`, and what becomes of a decoded image in `images`.
"""
