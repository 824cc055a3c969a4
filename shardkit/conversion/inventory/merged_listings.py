"""Merge the listings of many small parts, such as thousands of folders of ten images."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from shardkit.sources.listing import Listing, count_skipped

_BATCH_BYTES = 8 << 20  # 8 MiB of columns: about 100,000 boxes, which take ten times as much while they are checked


def merge_listings(listings: Iterable[Listing], batch_rows: int) -> Iterator[Listing]:
    """Merge listings, as columns, until each has `batch_rows` rows or 8 MiB.

    A Beam element and a temporary file for each of a thousand folders of ten images would cost more than the listing.
    """
    waiting: list[Listing] = []
    num_rows = num_bytes = 0
    for listing in listings:
        # As columns: a million boxes as Python objects took 19 GB between two steps of a pipeline.
        table = listing.table()
        waiting.append(replace(listing, rows=[], columns=table))
        num_rows += len(table)
        num_bytes += table.nbytes
        if num_rows >= batch_rows or num_bytes >= _BATCH_BYTES:
            yield _merged(waiting)
            waiting, num_rows, num_bytes = [], 0, 0
    if waiting:
        yield _merged(waiting)


def _merged(listings: list[Listing]) -> Listing:
    if len(listings) == 1:
        return listings[0]
    skipped, classes = dict[str, int](), dict[int, str]()
    for listing in listings:
        for kind, count in listing.skipped.items():
            count_skipped(skipped, kind, count)
        classes |= listing.classes
    columns = pa.concat_tables([listing.table() for listing in listings])
    return Listing(listings[0].schema, columns=columns, skipped=skipped, classes=classes)
