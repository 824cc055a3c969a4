"""Copy all examples of a dataset into the files of another tool."""

from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Final

from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError
from shardkit.records.new_folder import new_folder
from shardkit.records.parquet_files import write_parquet
from shardkit.records.sequence import Examples
from shardkit.records.webdataset_files import write_webdataset

_WRITERS: Final[dict[str, Callable[[Sequence[Examples], Path], Iterator[int]]]] = {
    "parquet": write_parquet,
    "webdataset": write_webdataset,
}


def copy_examples(dataset: str, target: str, folder: str) -> Generator[int, None, None]:
    """Write all examples to a new folder; yield the number of those that are written, again and again.

    The folder appears under its name when everything is written; after an error or Ctrl-C nothing is left.

    Args:
        dataset: The dataset's folder.
        target: ``parquet`` or ``webdataset``.
        folder: A local folder that does not exist, or is empty.

    Raises:
        CallError: The folder is not empty, or the dataset has no examples.
        DataError: The dataset is damaged.
    """
    manifest = read_manifest(dataset)
    parts = [Examples(dataset, name) for name, split in manifest.splits.items() if split.num_examples]
    if not parts:
        raise CallError(f"{dataset}: the dataset has no examples")
    with new_folder(folder, "export") as unfinished:
        yield from _WRITERS[target](parts, unfinished)
