"""The transforms as Beam YAML takes them: options by name, as on the command line, and rows as elements.

`transforms.yaml` names them.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam.typehints.row_type import RowTypeConstraint

from shardkit.beam.convert_images import ConvertImages
from shardkit.beam.read_dataset import ReadDataset
from shardkit.beam.write_dataset import WriteDataset
from shardkit.conversion.arguments import grouped
from shardkit.dataset.features import Feature
from shardkit.dataset.manifest import read_manifest

_TYPES: dict[str, Any] = {"bytes": bytes, "int64": int, "float32": float}


def write_dataset(output: str, **options: Any) -> beam.PTransform:
    """Return `WriteDataset`, whose outputs are `manifest`, `shards` and `rejects`.

    Args:
        output: The dataset's folder.
        **options: Those of `shardkit convert` that `WriteDataset` takes, such as ``resize: 256``.
    """
    return _Named(WriteDataset(output, **grouped(options)))


def read_dataset(dataset: str, split: str, where: str | None = None) -> beam.PTransform:
    """Return `ReadDataset` with rows as elements.

    Args:
        dataset: See `ReadDataset`, like the following.
        split: Name of the split.
        where: A condition on the index.
    """
    return _Rows(ReadDataset(dataset, split, where=where))


class ConvertByName(ConvertImages):
    """`ConvertImages` with its options by name."""

    _yaml_requires_inputs = False  # Beam YAML asks

    def __init__(self, source: str, output: str, **options: Any) -> None:
        """Check the options.

        Args:
            source: See `shardkit.convert`.
            output: The dataset's folder.
            **options: Those of `shardkit convert`.
        """
        super().__init__(source, output, **grouped(options))


class _Named(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """A transform with several outputs by their names."""

    def __init__(self, transform: beam.PTransform) -> None:
        super().__init__()
        self._transform = transform

    def expand(self, rows: Any) -> dict[str, Any]:
        outputs: dict[str, Any] = (rows | self._transform)._asdict()
        return outputs


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
