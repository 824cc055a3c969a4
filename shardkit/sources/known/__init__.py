"""Readings of datasets that everybody knows: a YAML file for each, and `finding`, which looks for their files.

title: name in messages and manifests
page: dataset, what is read and the command, as `well-known.md` shows them; none for a further form of another file
places: folders that the paths may be in, as `{place}`; `{0}`, `{1}` are the numbers of the folders below it
paths: paths by name, or several of which the first counts that exists
files: further paths that have to exist; `*` and `?` in a name stand for any characters
begins: expressions of the first lines of files
readings: the first counts whose paths all exist
remark: what the user should know besides
"""
