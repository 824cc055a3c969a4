"""The options of a conversion, in groups: each option is defined once, in one of the two modules named here.

`Facts`, `Folders`, `Table`, `TFRecord`, `Selection`, `Splits`, `Shards` and `Stored` are arguments of the functions.
The options of the other groups are arguments themselves. The types are those of the values that users may give; what is
made of them has the values that are read (`SourceOptions`, `ConvertOptions`, `StoredForm`).
"""

from shardkit.options.definition import OPTIONS
from shardkit.options.of_datasets import (
    DEFAULT_MAX_REJECTED,
    DEFAULT_QUALITY,
    MAX_SIDE,
    TARGET_SHARD_BYTES,
    DatasetArguments,
    RunArguments,
    Shards,
    Splits,
    Stored,
)
from shardkit.options.of_sources import Facts, Folders, Selection, SourceArguments, Table, TFRecord

__all__ = [
    "DEFAULT_MAX_REJECTED",
    "DEFAULT_QUALITY",
    "MAX_SIDE",
    "OPTIONS",
    "TARGET_SHARD_BYTES",
    "DatasetArguments",
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
