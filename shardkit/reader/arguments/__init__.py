"""Arguments of the reader's functions, validated before anything is read.

Here: the values that users pass (`Images`, `BlockOrder`, `Skip`, `Cache`, `Service`), which validate themselves; one
function that validates the rest; and the options that the pipeline receives. Not here: checks that need a dataset, such
as whether a class exists. Those are made where the index is read.
"""
