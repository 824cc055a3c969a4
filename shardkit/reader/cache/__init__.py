"""Verified copies of shards on a local disk, within a limit of bytes, shared by all processes of a host.

Here belong copying, checking, locking and evicting shards. How records are found and read in them does not: the table
of records gets paths of local files.
"""
