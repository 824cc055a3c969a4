"""Offer no reading of images without labels next to a table that may have them and could not be matched with them.

A table of wells and compounds next to A01_s1_w1.tif names no image, and still holds the labels: a dataset of the same
images without labels would look good.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from shardkit.errors import ShardkitError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.engine.described_images import describing_column
from shardkit.sources.engine.lookup import refuse_lost_zeros
from shardkit.sources.formats.tables.opening import open_table_file
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.walking import files_below, is_image
from shardkit.storage import Folder

_SHOWN = 3  # tables


@contextmanager
def keeping_labels(
    tables: Sequence[str], unrelated: Sequence[tuple[Folder, Sequence[str], SourcePlace]]
) -> Iterator[None]:
    """Let a refusal offer no images without labels, and no folders as classes, if there are unread tables."""
    try:
        yield
    except RefusalError as error:
        if tables:
            _refuse_lost_zeros(unrelated)
            refusal = error.refusal
            shown = ", ".join(map(printable, tables[:_SHOWN]))
            hidden = " ".join(named("ignore", f"/{path}") for path in tables[:_SHOWN])
            of_tables = [change for one in unrelated for change in _readings(*one)]
            of_names = [
                replace(one, meaning=f"{one.meaning}; {shown} is not read")
                for one in refusal.changes
                if "label_pattern" in one.options
            ]
            remedy = f"write the images' paths into a column of {shown}, or hide {shown} with {hidden} if it "
            changes = (*of_tables, *of_names)
            error.refusal = replace(refusal, changes=changes, remedy=f"{remedy}holds no labels")
        raise


def _refuse_lost_zeros(unrelated: Sequence[tuple[Folder, Sequence[str], SourcePlace]]) -> None:
    """Refuse tables whose numbers are names of images without their zeros."""
    for folder, names, _ in unrelated:
        for name in names[:_SHOWN]:
            file = open_table_file(folder, name, SourceOptions())
            paths = (path for path, entry in files_below(folder, "") if is_image(entry.name))
            refuse_lost_zeros(file, range(len(file.columns)), paths)


def _readings(folder: Folder, names: Sequence[str], place: SourcePlace) -> list[Change]:
    """Return the changes that read tables of which each record is about several images."""
    changes: list[Change] = []
    for name in names[:_SHOWN]:
        try:
            column = describing_column(open_table_file(folder, name, SourceOptions()), folder)
        except ShardkitError:
            continue
        meaning = f"each record is about the images whose names begin with its {column!r}"
        found = place.inside([name], meaning) if column else []
        changes += [replace(one, options={**one.options, "image_column": column}) for one in found]
    return changes
