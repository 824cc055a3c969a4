"""Offer no reading of images without labels next to a table that may have them and could not be matched with them.

A table of wells and compounds next to A01_s1_w1.tif names no image, and still holds the labels: a dataset of the same
images without labels would look good.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.refusals import RefusalError

_SHOWN = 3  # tables


@contextmanager
def keeping_labels(tables: Sequence[str]) -> Iterator[None]:
    """Let a refusal offer no images without labels, and no folders as classes, if there are unread tables.

    Args:
        tables: Paths of the unread tables, below SOURCE.

    Raises:
        RefusalError: The refusal, with what to do about the tables. Labels from the names of the files are still
            offered, and the change says that the tables are not read.
    """
    try:
        yield
    except RefusalError as error:
        if tables:
            refusal = error.refusal
            shown = ", ".join(map(printable, tables[:_SHOWN]))
            hidden = " ".join(named("ignore", f"/{path}") for path in tables[:_SHOWN])
            changes = tuple(
                replace(one, meaning=f"{one.meaning}; {shown} is not read")
                for one in refusal.changes
                if "label_pattern" in one.options
            )
            remedy = f"write the images' paths into a column of {shown}, or hide {shown} with {hidden} if it "
            error.refusal = replace(refusal, changes=changes, remedy=f"{remedy}holds no labels")
        raise
