"""Decide what a folder is that no layout recognises by its files, and refuse what would be read wrongly.

`wrapped_source` has sources that add something to another one: a sentence, a count, or an archive's damaged members.
"""
