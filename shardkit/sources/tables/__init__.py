"""Tables that name images: the roles of their columns, and how their paths find images.

`formats` reads the files. Roles and formats are also used by Hugging Face's layouts in `folders` and `packed`.
"""
