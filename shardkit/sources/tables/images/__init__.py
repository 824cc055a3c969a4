"""Where a table's images are: the column that names them, prefixes of paths, and folders nearby.

`choice` finds the column, `placing` the folder; `lookup` finds files by inexact names, `nearby` in other folders;
`prefixes` replaces the beginning of paths from other machines. `tables/paths.py` turns paths into keys.
"""
