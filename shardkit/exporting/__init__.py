"""Metadata files for other tools, derived from the manifest and the indexes of a dataset; no shard is read.

| module | contents |
|---|---|
| `export` | write the files of a target whole, and never over a user's own; DALI's index files |
| `facts` | what only the publisher knows: license, page, creator |
| `croissant` | ``croissant.json`` of MLCommons |
| `dataset_card` | ``README.md`` for the Hugging Face Hub |

What TFDS reads is part of every dataset: `dataset.tfds_metadata`.
"""

from shardkit.exporting.export import TARGETS, Export, export_dataset, targets_of
from shardkit.exporting.facts import Facts

__all__ = ["TARGETS", "Export", "Facts", "export_dataset", "targets_of"]
