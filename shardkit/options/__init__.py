"""Options: what each one is, and how it is written.

Here: the definition of every option of a conversion (type, default, help, flag, whether it changes bytes), the frozen
groups that hold their values, and their names in messages. Not here: what an option does, and the click commands and
Python functions that are made from the definitions.
"""
