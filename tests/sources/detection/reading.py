"""Rows of a source of boxes, listed as the conversion lists them."""

from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions


def opened(path, **options):
    return open_source(str(path), SourceOptions(**options))


def listed(source, batch_rows=1000):
    """Rows of all parts, and files counted as skipped."""
    rows, skipped = [], {}
    for part in source.parts():
        for listing in source.list_part(part, batch_rows):
            table = listing.table()
            assert table.schema == source.schema
            table.validate(full=True)
            assert len(table) <= batch_rows
            rows += table.to_pylist()
            for kind, count in listing.skipped.items():
                skipped[kind] = skipped.get(kind, 0) + count
    return rows, skipped


def boxes(rows):
    """(class, ymin, xmin, ymax, xmax) of the objects of each good image, by key."""
    return {
        row["key"]: [(one["label_name"], *one["bbox"]) for one in row["objects"]] for row in rows if not row["reason"]
    }


def problems(rows):
    return [(row["key"], row["reason"]) for row in rows if row["reason"]]
