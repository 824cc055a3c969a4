"""What a source is: how each layout of raw data lists its examples, in parallel parts and in columns.

Listing opens no image; `inventory` checks and reads them. Every layout has a module or a package in `folders`, `lists`,
`tables`, `detection` or `packed`. `opening` chooses the layout, `recognising` decides what a folder is that no layout
knows, `ignoring` leaves parts of a source out. This folder has what they share.

`open_source` is imported from `opening`, because it needs the packages of all layouts. The reader, which has only
TensorFlow, knows the columns of a listing without them.
"""

from shardkit.sources.listing import LISTING_SCHEMA, Listing, Source
from shardkit.sources.options import SourceOptions

__all__ = ["LISTING_SCHEMA", "Listing", "Source", "SourceOptions"]
