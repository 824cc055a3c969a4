"""The former name of `shardkit.beam`."""

import warnings

from shardkit.beam import (
    Box,
    ConvertImages,
    Example,
    PublishedDataset,
    ReadDataset,
    Reject,
    WriteDataset,
    WrittenDataset,
    WrittenShard,
)

__all__ = [
    "Box",
    "ConvertImages",
    "Example",
    "PublishedDataset",
    "ReadDataset",
    "Reject",
    "WriteDataset",
    "WrittenDataset",
    "WrittenShard",
]

warnings.warn("shardkit.pipelines is now shardkit.beam: import the same names from there", FutureWarning, stacklevel=2)
