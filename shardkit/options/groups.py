"""The options of a conversion, in groups: each option is defined once, in one of the three modules named here.

`Facts`, `Folders`, `Table`, `TFRecord`, `Selection`, `Splits`, `Shards` and `Stored` are arguments of the functions.
The options of the other groups are arguments themselves. `ConvertOptions` has all that decide what is written, and is
passed down as it is; `SourceOptions` is made of those that say how a source is read.
"""

from shardkit.options.definition import OPTIONS
from shardkit.options.of_datasets import ConvertOptions, Splits
from shardkit.options.of_sources import Facts, Folders, Selection, SourceArguments, Table, TFRecord
from shardkit.options.of_storage import (
    DEFAULT_MAX_REJECTED,
    DEFAULT_QUALITY,
    MAX_SHARD_BYTES,
    MAX_SIDE,
    MIN_SHARD_BYTES,
    TARGET_SHARD_BYTES,
    RunArguments,
    Shards,
    Stored,
)

__all__ = [
    "DEFAULT_MAX_REJECTED",
    "DEFAULT_QUALITY",
    "MAX_SHARD_BYTES",
    "MAX_SIDE",
    "MIN_SHARD_BYTES",
    "OPTIONS",
    "TARGET_SHARD_BYTES",
    "ConvertOptions",
    "Facts",
    "Folders",
    "RunArguments",
    "Selection",
    "Shards",
    "SourceArguments",
    "Splits",
    "Stored",
    "TFRecord",
    "Table",
]
