"""`ReadDataset` as Beam YAML takes it, with rows as elements. `pipelines/transforms.yaml` names it."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam.typehints.row_type import RowTypeConstraint

from shardkit.beam.read_dataset import ReadDataset
from shardkit.dataset.features import Feature
from shardkit.dataset.manifest import read_manifest

_TYPES: dict[str, Any] = {"bytes": bytes, "int64": int, "float32": float}


def read_dataset(dataset: str, split: str, where: str | None = None) -> beam.PTransform:
    """Return `ReadDataset` with rows as elements.

    Args:
        dataset: See `ReadDataset`, like the following.
        split: Name of the split.
        where: A condition on the index.
    """
    return _Rows(ReadDataset(dataset, split, where=where))


class _Rows(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """Examples as rows of a schema; a field's name has "_" in place of "/".

    The one transform that reads while the graph is built: Beam YAML needs the schema then, and the manifest has it.
    """

    def __init__(self, read: ReadDataset) -> None:
        super().__init__()
        self._read = read

    def expand(self, pipeline: Any) -> Any:
        features = read_manifest(os.fspath(self._read.dataset)).features
        fields = [(_field(name), _type(feature)) for name, feature in features.items()]
        return (
            pipeline
            | self._read
            | "MakeRows" >> beam.Map(_row).with_output_types(RowTypeConstraint.from_fields(fields))
        )  # beam.Row


def _field(name: str) -> str:
    return name.replace("/", "_")


def _type(feature: Feature) -> Any:
    made: Any = str if feature.role == "text" else _TYPES[feature.dtype]
    for _ in feature.shape:
        made = Sequence[made]
    return made


def _row(example: Mapping[str, Any]) -> beam.Row:
    return beam.Row(**{_field(name): _plain(value) for name, value in example.items()})


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
