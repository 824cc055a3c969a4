"""What the commands print: lines that wrap at the terminal's width, tables of splits, the summary of a dataset, JSON.

Nothing here decides anything; the commands are one folder up.
"""
