"""Layouts of raw data: each lists a source's examples in parallel parts, in columns, and opens no image."""

from shardkit.sources.listing import LISTING_SCHEMA, Listing, Source
from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions

__all__ = ["LISTING_SCHEMA", "Listing", "Source", "SourceOptions", "open_source"]
