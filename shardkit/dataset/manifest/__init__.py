"""The manifest: the description of a dataset, written last, so that its presence means a complete dataset.

| module | contents |
|---|---|
| `model`, `parts` | the manifest as a value; its shards, splits, source and generations |
| `checks` | contradictions between the parts of a manifest |
| `text` | parse, check, seal and write the text of a manifest |
| `shard_tables` | the shards of a dataset that has very many, in files of their own |
| `reading` | read the manifest of a folder; tell datasets from other folders |
| `missing` | explain a missing or damaged manifest |
| `pinning` | read a dataset as it was before an append |
| `records_root`, `readopting` | records that others wrote: their folder, and the command that adopts them again |

Writing a manifest belongs in `writing` and `adoption`.
"""

from shardkit.dataset.manifest.model import ADOPTED, Manifest
from shardkit.dataset.manifest.parts import Balance, File, Index, Rejected, Shard, Source, Split
from shardkit.dataset.manifest.reading import dataset_folder, find_dataset, manifest_bytes, read_manifest
from shardkit.dataset.manifest.text import FORMAT_VERSION, digest_of, parse_manifest, seal_manifest, write_shard_tables

__all__ = [
    "ADOPTED",
    "FORMAT_VERSION",
    "Balance",
    "File",
    "Index",
    "Manifest",
    "Rejected",
    "Shard",
    "Source",
    "Split",
    "dataset_folder",
    "digest_of",
    "find_dataset",
    "manifest_bytes",
    "parse_manifest",
    "read_manifest",
    "seal_manifest",
    "write_shard_tables",
]
