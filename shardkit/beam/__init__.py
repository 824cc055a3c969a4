"""The only package that imports Beam: transforms that call the functions of the other packages, runners, progress.

| transform | from and to |
|---|---|
| `ReadImages`, `ReadAllImages` | a source of images to a PCollection of examples |
| `CheckImages` | examples to examples with what decoding finds |
| `WriteDataset` | a PCollection of images with labels to a dataset |
| `ConvertImages` | a source of images to a dataset, as `shardkit convert --runner` does |
| `ReadDataset` | a dataset to a PCollection of its examples |

What a conversion decides is in `writing`, what a check finds in `verification`;
neither belongs here.
"""

import logging

from shardkit.extras import require_extra

require_extra("beam", "shardkit.beam, which --runner uses,")
logging.disable(logging.WARNING)  # Beam prints "apitools not found" to everyone who does not use Google's APIs
try:
    import apache_beam  # noqa: F401 - loaded first and silently
finally:
    logging.disable(logging.NOTSET)

from shardkit.beam.check_images import CheckImages  # noqa: E402 - after Beam is loaded silently
from shardkit.beam.conversion import ConvertImages  # noqa: E402
from shardkit.beam.elements import (  # noqa: E402 - after Beam is loaded silently
    Box,
    Example,
    PublishedDataset,
    Reject,
    WrittenDataset,
    WrittenShard,
)
from shardkit.beam.read_dataset import ReadDataset  # noqa: E402
from shardkit.beam.read_images import ReadAllImages, ReadImages  # noqa: E402
from shardkit.beam.write_dataset import WriteDataset  # noqa: E402

__all__ = [
    "Box",
    "CheckImages",
    "ConvertImages",
    "Example",
    "PublishedDataset",
    "ReadAllImages",
    "ReadDataset",
    "ReadImages",
    "Reject",
    "WriteDataset",
    "WrittenDataset",
    "WrittenShard",
]
