"""Refuse images without label folders next to tables that may have their labels and could not be matched with them.

A table of wells and compounds next to A01_s1_w1.tif names no image, and still holds the labels: a dataset of the same
images without labels would look good.
"""

from collections.abc import Sequence
from dataclasses import replace

from shardkit.errors import ShardkitError
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.engine.lookup import refuse_lost_zeros
from shardkit.sources.formats.tables.opening import open_table_file
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import files_below, is_image
from shardkit.storage import Folder

_SHOWN = 3  # tables


def refusal_with_tables(
    error: ShardkitError, tables: Sequence[str], unrelated: Sequence[tuple[Folder, Sequence[str]]]
) -> ShardkitError:
    """Return a refusal that offers no images without labels, if there are tables that are not read."""
    if tables and isinstance(error, RefusalError):
        for folder, names in unrelated:
            for name in names[:_SHOWN]:
                file = open_table_file(folder, name, SourceOptions())
                paths = (path for path, entry in files_below(folder, "") if is_image(entry.name))
                refuse_lost_zeros(file, range(len(file.columns)), paths)
        shown = ", ".join(map(printable, tables[:_SHOWN]))
        hidden = " ".join(named("ignore", f"/{path}") for path in tables[:_SHOWN])
        remedy = f"write the images' paths into a column of {shown}, or hide {shown} with {hidden} if it "
        error.refusal = replace(error.refusal, changes=(), remedy=f"{remedy}holds no labels")
    return error
