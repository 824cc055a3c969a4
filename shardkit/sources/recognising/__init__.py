"""Decide what a folder is that no layout recognises by its files, and refuse what would be read wrongly.

`several_sources` and `archives_in_folders` show sources and archives as one tree, `wrappers` a tree without folders
around others. `uniting` reads folders that are each a complete dataset as one source. `wrapped_source` has sources that
add something to another one: a sentence, a count, or an archive's damaged members.
"""
