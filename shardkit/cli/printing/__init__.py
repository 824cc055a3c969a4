"""Build what the commands print: lines that wrap at the terminal's width, tables, summaries and JSON.

Nothing here decides anything; the commands are one folder up.
"""
