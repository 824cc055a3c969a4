"""Decide what a folder is that no layout recognises by its files, and refuse what would be read wrongly.

`unmarked_folders` decides; `annotated_data_check` finds annotations that no layout reads, and
`wrapped_source` has sources that add something to another one: a sentence, a count, or the damaged members of an archive.
"""
