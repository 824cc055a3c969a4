"""Compare every byte of a dataset with its manifest, and collect all problems with their file and record."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shardkit import naming
from shardkit.dataset import tfrecord
from shardkit.dataset.features import NO_LABEL
from shardkit.dataset.index.file import ShardSummary, indexed_labels, parse_index
from shardkit.dataset.manifest import File, Manifest, Shard, Split, manifest_bytes, parse_manifest
from shardkit.dataset.manifest.missing import damage_remedy, explain_missing_manifest
from shardkit.errors import DataError, ManifestError, RecordError
from shardkit.hashing import HashedFile, sha256_hex
from shardkit.storage import Folder, is_of_machine, raise_store_failure, unreadable
from shardkit.storage.retry import retried
from shardkit.verification.examples import ExampleSpec, example_problems

MAX_PROBLEMS_PER_SHARD = 50  # reported one by one
_REST_BYTES = 1 << 20  # 1 MiB


@dataclass(frozen=True, slots=True)
class DatasetProblem:
    """One problem.

    Attributes:
        file: Path of the file in the dataset.
        record: Number of the record from 0; None for the whole file.
        found: The problem, in words.
    """

    file: str
    record: int | None
    found: str

    def __str__(self) -> str:
        where = self.file if self.record is None else f"{self.file}, record {self.record}"
        return f"{where}: {self.found}"


def read_checked_manifest(root: Folder, digest: str | None = None) -> tuple[Manifest | None, list[DatasetProblem]]:
    """Read the manifest; return it, None if it cannot be read, and its problems.

    Args:
        root: The dataset's folder.
        digest: Digest of the manifest; None for the current one.
    """
    if digest is not None and digest != _current_digest(root):
        return _checked_earlier(root, digest)
    try:
        raw = manifest_bytes(root)
    except (FileNotFoundError, NotADirectoryError):
        interrupted = root.stat(naming.WORK_FOLDER) is not None
        found = (
            "the conversion was interrupted; run it again to finish it"
            if interrupted
            else f"is missing; {explain_missing_manifest(root)}"
        )
        return None, [DatasetProblem(naming.MANIFEST, None, found)]
    except ManifestError as error:
        return None, [DatasetProblem(naming.MANIFEST, None, str(error).removeprefix(f"{root.url}/{naming.MANIFEST}: "))]
    try:
        manifest = parse_manifest(raw, root, where=naming.MANIFEST, remedy=lambda: damage_remedy(root))
        manifest.check_records(root, where=naming.MANIFEST)
    except ManifestError as error:
        return None, [DatasetProblem(naming.MANIFEST, None, str(error).removeprefix(f"{naming.MANIFEST}: "))]
    except OSError as error:  # a table of shards
        return None, [_unreadable(root, naming.MANIFEST, error)]
    return manifest, _text_problems(naming.MANIFEST, raw, manifest)


def _text_problems(path: str, raw: bytes, manifest: Manifest) -> list[DatasetProblem]:
    if raw == manifest.to_bytes():
        return []
    return [DatasetProblem(path, None, "its text is not the one that shardkit writes; a byte was changed")]


def _current_digest(root: Folder) -> str | None:
    try:
        return parse_manifest(manifest_bytes(root), root, where=naming.MANIFEST).digest
    except (OSError, ManifestError):
        return None


def _checked_earlier(root: Folder, digest: str) -> tuple[Manifest | None, list[DatasetProblem]]:
    """Read the manifest from before an append; see read_checked_manifest."""
    path = naming.earlier_manifest(digest)
    try:
        raw = retried(lambda: root.read(path))
        manifest = parse_manifest(raw, root, where=path, remedy=lambda: "restore it from a copy")
    except OSError as error:
        return None, [_unreadable(root, path, error)]
    except ManifestError as error:
        return None, [DatasetProblem(path, None, str(error).removeprefix(f"{path}: "))]
    if manifest.digest != digest:
        return None, [DatasetProblem(path, None, f"holds the manifest with the digest {manifest.digest}")]
    return manifest, _text_problems(path, raw, manifest)


def earlier_manifest_problems(root: Folder, manifest: Manifest) -> list[DatasetProblem]:
    """Return the problems of the manifests from before the appends, which trainers may have pinned."""
    digests = [one.previous for one in manifest.generations if one.previous is not None]
    return [problem for digest in digests for problem in _checked_earlier(root, digest)[1]]


def file_problems(root: Folder, file: File) -> list[DatasetProblem]:
    """Find the problems of a file next to the shards."""
    try:
        found = retried(lambda: root.stat(file.path))
        if found is not None and found.num_bytes != file.num_bytes:
            said = f"has {found.num_bytes} bytes, the manifest says {file.num_bytes}"
            return [DatasetProblem(file.path, None, said)]
        raw = retried(lambda: root.read(file.path))
    except OSError as error:
        return [_unreadable(root, file.path, error)]
    if sha256_hex(raw) != file.sha256:
        return [DatasetProblem(file.path, None, "its sha256 is not the manifest's; a byte was changed")]
    return []


@dataclass(frozen=True, slots=True)
class ShardCheck:
    """The result of checking one shard; ``class_counts`` by label, with NO_LABEL, from its index."""

    problems: list[DatasetProblem]
    class_counts: dict[int, int]
    num_examples: int
    num_bytes: int


def check_shard(root: Folder, shard: Shard, plan_digest: str, spec: ExampleSpec, *, deep: bool) -> ShardCheck:
    """Re-read a shard and its index: sizes, sha256, framing, both CRCs, every record against its row.

    Args:
        root: The dataset's folder.
        shard: The shard, as in the manifest.
        plan_digest: The manifest's plan digest, which the index must repeat.
        spec: Features and classes of every example.
        deep: Whether to decode every image too.
    """
    problems, table = _index_problems(root, shard, plan_digest)
    counts = {} if table is None else dict(zip(*_counted(indexed_labels(table)), strict=True))

    def read() -> list[DatasetProblem]:
        with root.open(shard.path) as file:
            return list(_record_problems(HashedFile(file), shard, table, spec, deep=deep))

    try:
        found = retried(read)
    except OSError as error:
        found = [_unreadable(root, shard.path, error)]
    problems += found
    if len(problems) > MAX_PROBLEMS_PER_SHARD:
        more = f"and {len(problems) - MAX_PROBLEMS_PER_SHARD} more problems"
        problems = [*problems[:MAX_PROBLEMS_PER_SHARD], DatasetProblem(shard.path, None, more)]
    return ShardCheck(problems, counts, shard.num_examples, shard.num_bytes)


def _counted(labels: Any) -> tuple[list[int], list[int]]:
    values, counts = np.unique(labels, return_counts=True)
    return values.tolist(), counts.tolist()


def class_count_problems(split_name: str, split: Split, checks: list[ShardCheck]) -> list[DatasetProblem]:
    """Compare a split's class counts with those of its indexes."""
    found = sum((Counter(check.class_counts) for check in checks), Counter())
    counts = [found[label] for label in range(len(split.class_counts))]
    wrong = ["class_counts are not those"] if counts != split.class_counts else []
    wrong += ["num_unlabelled is not that"] if found[NO_LABEL] != split.num_unlabelled else []
    said = (f"split {split_name!r}: its {what} of its indexes" for what in wrong)
    return [DatasetProblem(naming.MANIFEST, None, one) for one in said]


def _index_problems(root: Folder, shard: Shard, plan_digest: str) -> tuple[list[DatasetProblem], pa.Table | None]:
    path = shard.index.path
    try:
        raw = retried(lambda: root.read(path))
    except OSError as error:
        return [_unreadable(root, path, error)], None
    if sha256_hex(raw) != shard.index.sha256:
        # Not parsed, because Arrow may read damaged Parquet as missing columns, other types or invalid text.
        return [DatasetProblem(path, None, "its sha256 is not the manifest's; a byte was changed")], None
    problems = []
    try:
        table, summary = parse_index(raw, where=path, labels=shard.labels)
    except DataError as error:
        return [DatasetProblem(path, None, str(error).removeprefix(f"{path}: "))], None
    wanted = ShardSummary(
        shard.num_examples, shard.num_bytes, shard.sha256, plan_digest, summary.format_version, shard.num_with_gps
    )
    if summary != wanted:
        problems.append(DatasetProblem(path, None, f"its summary {summary} is not the manifest's {wanted}"))
    if len(table) != shard.num_examples:
        problems.append(DatasetProblem(path, None, f"has {len(table)} rows, the manifest says {shard.num_examples}"))
    # Rows that do not cover the file lead to no record.
    return problems, table if summary.num_bytes == shard.num_bytes else None


def _record_problems(
    hashed: HashedFile, shard: Shard, table: pa.Table | None, spec: ExampleSpec, *, deep: bool
) -> Iterator[DatasetProblem]:
    file = hashed.buffered()
    # With an intact index only the damaged record is lost; without one, the records after it cannot be found.
    records = _by_frames(file, shard) if table is None else _by_index(file, shard, table)
    num_examples = 0
    for number, record in enumerate(records):
        num_examples += 1
        if record.data is None:
            yield DatasetProblem(shard.path, number, record.problem)
        else:
            for problem in example_problems(record.data, record.row, spec, deep=deep):
                yield DatasetProblem(shard.path, number, problem)
    while file.read(_REST_BYTES):
        pass
    if num_examples != shard.num_examples:
        yield DatasetProblem(shard.path, None, f"has {num_examples} records, the manifest says {shard.num_examples}")
    if hashed.num_bytes != shard.num_bytes:
        yield DatasetProblem(shard.path, None, f"has {hashed.num_bytes} bytes, the manifest says {shard.num_bytes}")
    elif hashed.sha256 != shard.sha256:
        yield DatasetProblem(shard.path, None, "its sha256 is not the manifest's; a byte was changed")


class _Record(NamedTuple):
    row: dict[str, Any] | None  # of the index
    data: bytes | None  # None if the frame is damaged
    problem: str = ""


def _by_frames(file: BufferedReader, shard: Shard) -> Iterator[_Record]:
    try:
        for _, data in tfrecord.read_records(file, name=shard.path):
            yield _Record(None, data)
    except RecordError as error:
        yield _Record(None, None, str(error).removeprefix(f"{shard.path}: "))


def _by_index(file: BufferedReader, shard: Shard, table: pa.Table) -> Iterator[_Record]:
    for batch in table.to_batches(max_chunksize=1024):
        for row in batch.to_pylist():
            framed = file.read(row["length"] + tfrecord.OVERHEAD_BYTES)
            problem = tfrecord.frame_problem(framed, row["length"])
            if problem:
                yield _Record(row, None, f"{problem} (key {row['key']!r}, byte {row['offset']} of {shard.path})")
            else:
                yield _Record(row, framed[tfrecord.HEADER_BYTES : -tfrecord.FOOTER_BYTES])


def _unreadable(root: Folder, path: str, error: OSError) -> DatasetProblem:
    where = f"{root.url}/{path}"
    raise_store_failure(where, error)
    if is_of_machine(error):
        raise unreadable(where, error) from error
    if isinstance(error, FileNotFoundError):
        return DatasetProblem(path, None, "is missing")
    return DatasetProblem(path, None, f"cannot be read: {error.strerror or error}")
