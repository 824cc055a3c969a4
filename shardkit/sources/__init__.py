"""What a source is: how each layout of raw data lists its examples, in parallel parts and in columns.

Listing opens no image; `inventory` checks and reads them. Every layout has one module in `folders`, `tables`,
`detection` or `packed`. This folder has what they share, and `opening`, which chooses the layout.
"""

from shardkit.sources.listing import LISTING_SCHEMA, Listing, Source
from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions

__all__ = ["LISTING_SCHEMA", "Listing", "Source", "SourceOptions", "open_source"]
