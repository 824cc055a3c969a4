"""TFRecord files that other programs wrote, read as a source.

`files` finds and samples them, `several` puts the files and folders of one call together, `opening` decides what their
records mean, `records` turns a record into a row, and `layout` lists a file. What a record means in general is in
`dataset/foreign`, which knows nothing of sources.
"""
