"""Read datasets that shardkit wrote as sources: their records in place, and the changes that the user asks for.

TFRecord files of other programs are not here.
"""
