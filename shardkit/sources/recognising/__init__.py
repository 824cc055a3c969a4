"""Decide what a folder is that no layout recognises by its files, and refuse what would be read wrongly.

`unmarked_folders` decides; `annotated_data_check` finds annotations that no layout reads, `archive_problems` reports
damaged members of archives, `wrapped` and `subfolders` read a folder inside SOURCE as the source.
"""
