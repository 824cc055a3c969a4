"""The transforms under their former names in Beam YAML."""

from shardkit.beam import ConvertImages as ConvertByName
from shardkit.beam import WriteDataset as write_dataset  # noqa: N813 - it was a function
from shardkit.beam.yaml_transforms import read_dataset

__all__ = ["ConvertByName", "read_dataset", "write_dataset"]
