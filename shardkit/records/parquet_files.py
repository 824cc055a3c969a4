"""Write a dataset as Parquet files of the Hugging Face Hub: images and all other features are columns.

FOLDER/data/<split>-00000-of-00004.parquet, a file for each shard

The schema's metadata have the features of the library `datasets`, which then decodes images and names classes:
huggingface.co/docs/hub/datasets-image. Pages are cut where the content says, so that a changed dataset shares most of
its bytes with the one before (content-defined chunking).
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit.dataset.features import LABELS, OBJECTS, Feature
from shardkit.dataset.manifest import Manifest
from shardkit.records.example import Example, is_unlabelled
from shardkit.records.record import stored_ending
from shardkit.records.sequence import Examples

_OBJECTS = OBJECTS.rstrip("/")
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_MAX_ROWS, _MAX_BYTES = 1000, 32 << 20  # of a row group


def write_parquet(parts: Sequence[Examples], folder: Path) -> Iterator[int]:
    """Write the examples of some splits; yield the number of examples that are written, again and again.

    Args:
        parts: The examples of each split of one dataset.
        folder: A new folder. It is not complete before the iteration ends.
    """
    manifest = parts[0].manifest
    schema = parquet_schema(manifest)
    (folder / "data").mkdir(parents=True)
    num_written = 0
    for examples in parts:
        starts = [0]
        for count in examples.shard_counts:
            starts.append(starts[-1] + count)
        num_files = len(starts) - 1
        for number in range(num_files):
            path = folder / "data" / f"{examples.split}-{number:05d}-of-{num_files:05d}.parquet"
            with pq.ParquetWriter(path, schema, **_CHUNKING) as writer:
                for rows in _row_groups(examples[starts[number] : starts[number + 1]]):
                    writer.write_table(pa.Table.from_pylist(rows, schema=schema), row_group_size=len(rows))
                    num_written += len(rows)
                    yield num_written


# Arrow has it since version 21.
_CHUNKING: dict[str, Any] = {"use_content_defined_chunking": True} if int(pa.__version__.split(".")[0]) >= 21 else {}


def _row_groups(examples: Sequence[Example]) -> Iterator[list[dict[str, Any]]]:
    rows, num_bytes = list[dict[str, Any]](), 0
    for example in examples:
        rows.append(_row(example))
        num_bytes += len(example["image"])
        if len(rows) == _MAX_ROWS or num_bytes >= _MAX_BYTES:
            yield rows
            rows, num_bytes = [], 0
    if rows:
        yield rows


def _row(example: Example) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in example.items():
        kept: Any
        if name == LABELS and is_unlabelled(example):
            kept = None  # -1 is no label for `datasets` only where there is one
        elif isinstance(value, bytes):
            kept = {"bytes": value, "path": f"{example.key}.{stored_ending(value)}"}
        else:
            kept = value.tolist() if hasattr(value, "tolist") else value
        if name.startswith(OBJECTS):
            row.setdefault(_OBJECTS, {})[name.removeprefix(OBJECTS)] = kept
        else:
            row[name] = kept
    return row


def parquet_schema(manifest: Manifest) -> pa.Schema:
    """Return the schema of the files, with the features of Hugging Face in its metadata."""
    columns: dict[str, pa.DataType] = {}
    objects: dict[str, pa.DataType] = {}
    told: dict[str, Any] = {}
    told_of_objects: dict[str, Any] = {}
    for name, feature in manifest.features.items():
        of_object = name.startswith(OBJECTS)
        own = name.removeprefix(OBJECTS)
        (objects if of_object else columns)[own] = _type(feature)
        (told_of_objects if of_object else told)[own] = _feature(feature, manifest.classes)
    if objects:
        columns[_OBJECTS] = pa.struct([*objects.items()])
        told[_OBJECTS] = told_of_objects
    metadata = {"huggingface": json.dumps({"info": {"features": told}})}
    return pa.schema([*columns.items()], metadata=metadata)


def _type(feature: Feature) -> pa.DataType:
    if feature.role in {"image", "mask"}:
        return _IMAGE
    made = {"bytes": pa.string(), "int64": pa.int64(), "float32": pa.float32()}[feature.dtype]
    for size in reversed(feature.shape):
        made = pa.list_(made) if size is None else pa.list_(made, size)
    return made


def _feature(feature: Feature, classes: Sequence[str]) -> dict[str, Any]:
    if feature.role in {"image", "mask"}:
        return {"_type": "Image"}
    if feature.role == "class_label":
        made: dict[str, Any] = {"_type": "ClassLabel", "names": [*classes]}
    else:
        made = {"_type": "Value", "dtype": "string" if feature.dtype == "bytes" else feature.dtype}
    for size in reversed(feature.shape):
        made = {"_type": "Sequence", "feature": made, **({} if size is None else {"length": size})}
    return made
