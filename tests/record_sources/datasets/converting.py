"""Convert as users do, and read back what is in a dataset."""

import numpy as np

from shardkit.conversion.arguments import grouped, read_arguments
from shardkit.conversion.option_values import conversion_values
from shardkit.dataset.index.file import parse_index
from shardkit.dataset.manifest import read_manifest
from shardkit.records.sequence import Examples
from shardkit.testing import convert_without_beam, files_of


def convert(source, output, **options):
    """Convert as `shardkit.convert` does with these arguments, without Beam; the manifest."""
    also = options.pop("also", ())
    given = read_arguments("convert", grouped(options))
    source_options, converting = conversion_values(str(source), given, lambda text: None, also)
    return convert_without_beam(str(source), str(output), converting, source_options=source_options)


def examples(path):
    """{key: (split, its features)} of a dataset."""
    found = {}
    for split in read_manifest(str(path)).splits:
        for one in Examples(str(path), split):
            values = {name: np.asarray(one[name]).tolist() for name in one if name != "key"}
            found[one.key] = split, {**values, "names": list(one.label_names)}
    return found


def shards(path):
    return {name: data for name, data in files_of(path).items() if name.endswith(".tfrecord")}


def index_rows(path):
    """The rows of all indexes, in order, without the summaries."""
    files = sorted(path.glob("*.index.parquet"))
    return [parse_index(one.read_bytes(), where=one.name)[0].to_pylist() for one in files]
