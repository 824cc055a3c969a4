"""Copies of shards on a local disk, shared by all processes of a host."""
