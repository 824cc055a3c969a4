"""Decide what a folder is that no layout recognises by its files, and refuse what would be read wrongly.

`unmarked_folders` decides; `annotated_data_check` finds annotations that no layout reads, `archive_problems` reports
damaged members of archives, `subfolders` opens a folder inside SOURCE as the source, and `wrapped_source` adds a
sentence or a count to a source.
"""
