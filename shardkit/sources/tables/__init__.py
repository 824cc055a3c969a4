"""Read tables that name images: the roles of their columns, their labels, and how their paths find images.

`formats` reads the files of a table as records, `images` and `labels` decide what its columns mean. Hugging Face's
layouts in `folders` and `packed` use these, too.
"""
