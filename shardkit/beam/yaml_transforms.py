"""Transforms in the form of Beam YAML, with `error_handling` and rows as elements; for `pipelines/transforms.yaml`."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam.typehints.row_type import RowTypeConstraint

from shardkit.beam.check_images import CheckImages
from shardkit.beam.read_dataset import ReadDataset
from shardkit.beam.read_images import ReadImages
from shardkit.dataset.features import Feature
from shardkit.dataset.manifest import read_manifest

_TYPES: dict[str, Any] = {"bytes": bytes, "int64": int, "float32": float}


def read_images(
    source: str | Sequence[str], error_handling: Mapping[str, str] | None = None, **options: Any
) -> beam.PTransform:
    """Return `ReadImages`.

    Args:
        source: See `ReadImages`, like the options.
        error_handling: Beam YAML's ``{output: NAME}``: the outputs are then `examples`, `source`, and the rejects under
            this name.
        **options: Further arguments.
    """
    return _handling(ReadImages(source, **options), error_handling)


def check_images(error_handling: Mapping[str, str] | None = None, **options: Any) -> beam.PTransform:
    """Return `CheckImages`.

    Args:
        error_handling: See `read_images`; without the output `source`.
        **options: See `CheckImages`.
    """
    return _handling(CheckImages(**options), error_handling)


def _handling(transform: ReadImages | CheckImages, error_handling: Mapping[str, str] | None) -> beam.PTransform:
    return transform if error_handling is None else _WithRejects(transform, error_handling["output"])


class _WithRejects(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """The outputs of a transform, with the rejects under another name."""

    def __init__(self, transform: ReadImages | CheckImages, name: str) -> None:
        super().__init__(transform.label)
        self._transform, self._name = transform.with_rejects(), name

    def expand(self, inputs: Any) -> dict[str, Any]:
        found = dict(inputs | self._transform)
        rejects = found.pop("rejects")
        return {**found, self._name: rejects}


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
