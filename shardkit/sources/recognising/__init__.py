"""Recognise how a source is meant, and build its reading; `engine` reads it. Refuse what would be read wrongly.

| room | looks for |
| --- | --- |
| `folders` | labels in the names of folders and files, masks, Hugging Face's metadata |
| `tables` | the columns of a table that nobody has named |
| `lists` | text files that list images with labels and splits |
| `detection` | the files of boxes, of each format |
| `claims` | label files that no layout uses |

`several_sources` and `archives_in_folders` show sources and archives as one tree, `only_folders` a tree without folders
around others. `wrapped_source` has sources that add something to another one: a sentence, a count, or an archive's
damaged members.
"""
