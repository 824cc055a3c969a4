"""What a source is: how each layout of raw data lists its examples, in parallel parts and in columns.

`opening` chooses the layout, `listing` has the interface of all layouts, and the rooms below have the layouts. Listing
opens no image; `inventory` checks and reads them. `open_source` is imported from `opening`, because it needs all
layouts: the reader, which has only TensorFlow, knows the columns of a listing without them.
"""

from shardkit.sources.columns import LISTING_SCHEMA
from shardkit.sources.listing import Listing, Source
from shardkit.sources.options import SourceOptions

__all__ = ["LISTING_SCHEMA", "Listing", "Source", "SourceOptions"]
