"""The transforms under their former names in Beam YAML."""

from shardkit.beam.yaml_transforms import ConvertByName, read_dataset, write_dataset

__all__ = ["ConvertByName", "read_dataset", "write_dataset"]
