"""Find images whose metadata says where they were taken: a dataset that is handed on would tell everybody."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.schema import HAS_GPS, info_of
from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.rows import Rows
from shardkit.images.normalising import keeps_pixels
from shardkit.naming import counted
from shardkit.options.groups import ConvertOptions, Stored
from shardkit.options.words import named

_DECIDING = ["format", "width", "height", "orientation", "changes"]


def check_positions(good: Rows, options: ConvertOptions) -> Iterator[Finding]:
    """Yield a finding about images with GPS positions; with `--check header`, no image was opened and none is known."""
    if HAS_GPS.name not in good.column_names:
        return
    has_gps = good[HAS_GPS.name]
    num_with = 0 if has_gps.null_count == len(has_gps) else pc.sum(has_gps).as_py() or 0
    if not num_with:
        return
    form = options.stored
    have = "has a GPS position" if num_with == 1 else "have GPS positions"
    sentence = f"{num_with:,} of {counted(len(good), 'image')} {have} in the metadata"
    kept = 0 if form.strip_metadata else num_stored(good.filter(pc.fill_null(has_gps, False).to_numpy()), form)  # noqa: FBT003
    if not kept:
        strips = named("strip_metadata", True)
        remedy = f"none is stored, as asked for by {strips} or because these images are encoded again"
        yield Finding("gps_positions", "hints", sentence, remedy=remedy)
        return
    # Whether a JPEG is encoded again because of its coding is only known when it is written.
    up_to = "up to " if form.jpeg != "keep" or form.subsampling is not None else ""
    stored = "is stored with it" if kept == 1 else "are stored with them"
    yield Finding(
        "gps_positions",
        "warns",
        f"{sentence}, and {up_to}{kept:,} {stored}",
        remedy=f"before you hand the dataset on, add {named('strip_metadata', True)}, which changes no pixel",
    )


def num_stored(rows: Rows, form: Stored) -> int:
    """Return the number of images whose pixels are stored as they are in the file, counted by kind and size."""
    kinds = pa.table({name: rows[name] for name in _DECIDING})
    kinds = kinds.group_by(_DECIDING).aggregate([([], "count_all")])
    return sum(row["count_all"] for row in kinds.to_pylist() if keeps_pixels(info_of(row), form))
