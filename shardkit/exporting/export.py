"""Write the files of an export: each whole or not at all, and none over a file that a user wrote or changed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Literal, get_args

import pyarrow as pa

from shardkit import naming
from shardkit.dataset.export_list import EXPORTS, HERE, Exported, ExportList, read_export_list
from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.errors import CallError, DataError
from shardkit.exporting.croissant import CROISSANT, croissant
from shardkit.exporting.dataset_card import DATASET_CARD, dataset_card
from shardkit.exporting.facts import Facts
from shardkit.hashing import sha256_hex
from shardkit.options.words import named
from shardkit.storage import Folder
from shardkit.storage.store_errors import os_errors_as

Target = Literal["croissant", "dali-index", "dataset-card"]
TARGETS: tuple[Target, ...] = get_args(Target)
_DALI_ENDING = ".idx"


@dataclass(frozen=True, slots=True)
class Export:
    """What an export wrote.

    Attributes:
        folder: URL of the folder.
        written: Paths of the files that were written.
        unchanged: Paths of the files that were there already, byte for byte.
    """

    folder: str
    written: tuple[str, ...]
    unchanged: tuple[str, ...]


def export_dataset(manifest: Manifest, target: str, output: Folder, facts: Facts | None = None) -> Export:
    """Write the files of a target.

    Args:
        manifest: The dataset's manifest, read from its folder.
        target: One of TARGETS.
        output: The folder to write into, which may be the dataset's own.
        facts: What the manifest does not say; only for targets that say it.

    Raises:
        CallError: There is no such target, it does not take these facts, it describes the folder and the TFRecords are
            outside of it, or a file is there that no export wrote.
        DataError: An index is missing or damaged, or the files there are of another dataset.
        MachineError: A file cannot be read or written.
    """
    contents = _contents(manifest, target, facts or Facts())
    with os_errors_as("write the export", output.url):
        return _write(manifest, contents, output)


def _contents(manifest: Manifest, target: str, facts: Facts) -> Mapping[str, Callable[[], bytes]]:
    """Return a function for each path that makes the content of the file."""
    if target not in TARGETS:
        raise CallError(f"there is no export to {target!r}; the targets are {', '.join(TARGETS)}")
    if target != "dali-index" and manifest.records_root is not None:
        raise CallError(
            f"{manifest.root.url}: its TFRecords are outside of the folder, in {manifest.records_place}, and {target} "
            f"describes a folder that others download; adopt the TFRecords in their own folder, without {named('into')}"
        )
    if target == "croissant":
        return {CROISSANT: lambda: croissant(manifest, facts)}
    if target == "dataset-card":
        _refuse_facts(target, facts, ("title", "description", "license"))
        return {DATASET_CARD: lambda: dataset_card(manifest, facts)}
    _refuse_facts(target, facts, ())

    def index(path: str) -> bytes:
        return dali_index(read_columns(manifest.root, shards[path], ["offset", "length"]))

    shards = {dali_path(shard.index.path): shard for _, shard in manifest.shards()}
    return {path: (lambda path=path: index(path)) for path in shards}  # type: ignore[misc] # mypy/issues/12557


def targets_of(paths: Iterable[str]) -> list[Target]:
    """Return the targets that exported files are of, in the order of TARGETS."""
    target_of: dict[str, Target] = {CROISSANT: "croissant", DATASET_CARD: "dataset-card"}
    found = {target_of.get(path, "dali-index") for path in paths}
    return [target for target in TARGETS if target in found]


def _refuse_facts(target: str, facts: Facts, taken: tuple[str, ...]) -> None:
    for one in fields(facts):
        if getattr(facts, one.name) is not None and one.name not in taken:
            raise CallError(f"{named(one.name)} has no effect on {named('to', target)}; leave it out")


def _write(manifest: Manifest, contents: Mapping[str, Callable[[], bytes]], output: Folder) -> Export:
    root = manifest.root
    dataset = HERE if output.resolve("") == root.resolve("") else root.url
    before = read_export_list(output)
    there = {path for path in [*contents, EXPORTS] if output.stat(path) is not None}
    _refuse_others(output, before, dataset, there)
    files = dict(before.files) if before else {}
    pending = {path: Exported(None, manifest.digest) for path in contents}
    output.create()
    written, unchanged = list[str](), list[str]()
    # First the names, so that the files of an interrupted export are known to be shardkit's.
    is_listed = before is not None and all(path in files for path in contents)
    if not is_listed:
        _put(output, EXPORTS, ExportList(dataset, files | pending).to_bytes())
    for path, content in _made(contents):
        if path in there and output.read(path) == content:
            unchanged.append(path)
        else:
            if is_listed and not written:
                _put(output, EXPORTS, ExportList(dataset, files | pending).to_bytes())
            _put(output, path, content)
            written.append(path)
        files[path] = Exported(sha256_hex(content), manifest.digest)
    done = ExportList(dataset, files)
    if done != before:
        _put(output, EXPORTS, done.to_bytes())
    return Export(output.url, tuple(written), tuple(unchanged))


def _made(contents: Mapping[str, Callable[[], bytes]]) -> Iterator[tuple[str, bytes]]:
    return ((path, make()) for path, make in contents.items())


def _refuse_others(output: Folder, before: ExportList | None, dataset: str, there: set[str]) -> None:
    if before is None and EXPORTS in there:
        msg = f"{output.url}/{EXPORTS}: is not a list that shardkit wrote; move it, or choose another folder with -o"
        raise CallError(msg)
    if before is not None and before.dataset != dataset:
        other = output.url if before.dataset == HERE else before.dataset
        raise DataError(f"{output.url}: holds exports of the dataset {other}; choose another folder with -o")
    for path in sorted(there - {EXPORTS}):
        if before is None or not before.is_own(output, path):
            is_changed = before is not None and path in before.files
            what = "was changed after its export" if is_changed else "was not written by an export"
            raise CallError(f"{output.url}/{path}: this file {what}; move it, or choose another folder with -o")


def _put(output: Folder, path: str, content: bytes) -> None:
    with output.atomic_write(path) as file:
        file.write(content)


def dali_index(rows: pa.Table) -> bytes:
    """Return the content of an index of NVIDIA DALI's ``fn.readers.tfrecord``, as its ``tfrecord2idx`` writes it.

    It has a line for each record: offset and length of the whole frame in bytes, header and footer included.

    Args:
        rows: The columns ``offset`` and ``length`` of a shard's index.
    """
    pairs = zip(rows["offset"].to_pylist(), rows["length"].to_pylist(), strict=True)
    return "".join(f"{offset} {length + OVERHEAD_BYTES}\n" for offset, length in pairs).encode()


def dali_path(index_path: str) -> str:
    """Return the path of the file for a shard, given the path of the shard's index, which never leaves the folder."""
    return index_path.removesuffix(naming.INDEX_ENDING) + _DALI_ENDING
