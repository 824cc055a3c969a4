"""TFRecord files of another program: what their names, their first records and the files next to them say.

A source of TFRecords and an adoption both start from `ForeignFiles`. Which files they take, and what they do with
records that do not fit, is their own.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, cast

from shardkit.dataset.foreign.compression import Compression, compression_of, empty_compression, inflating
from shardkit.dataset.foreign.file_names import missing_shards, split_of_file, stems
from shardkit.dataset.foreign.found_features import Sampled
from shardkit.dataset.foreign.frames import frames
from shardkit.dataset.foreign.inferring import LayoutOverrides, infer_layout
from shardkit.dataset.foreign.label_names import LabelNames, numbered_names
from shardkit.dataset.foreign.record_layout import LabelFeature, RecordLayout
from shardkit.dataset.foreign.tfds_folder import (
    DATASET_INFO,
    FEATURES,
    LABELS_ENDING,
    TfdsFeatures,
    labels_file,
    read_labels,
    read_tfds_features,
    shard_lengths,
)
from shardkit.dataset.foreign.values import Features, read_features
from shardkit.errors import DataError, RecordError
from shardkit.naming import counted, printable
from shardkit.storage import Entry, Folder, os_errors_as
from shardkit.storage.concurrent_reads import read_many

HEAD_BYTES = 64 << 10  # 64 KiB
_FIRST_RECORDS = 64  # of a file, in which readable ones are looked for
_FIRST_BYTES = 32 << 20  # 32 MiB of them
WHOLE_FILES = 64  # of which sampled records are kept whole; of others long values are cut, to bound memory
_CUT_BYTES = 4 << 10  # 4 KiB
_READING_THREADS = 32  # an object store takes 50 ms for a file
# TFRecorder numbers text labels by TensorFlow Transform's vocabulary and stores it there (beam_pipeline.py).
_VOCABULARIES, _VOCABULARY = "transform_fn/assets", "vocab_"
_SLIM_LABELS = "labels.txt"  # of tensorflow/models, research/slim: "0:daisy"


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A TFRecord file."""

    path: str
    num_bytes: int
    mtime_ns: int
    compression: Compression
    split: str | None  # the split of all of its records, if a folder's name or its own gives one
    stem: str  # the beginning of keys that are made from its path
    num_records: int | None = None  # number of records that the dataset's own files announce; None if they do not


def read_head(folder: Folder, path: str) -> bytes:
    """Return the first bytes of a file, or all of a short one."""
    with os_errors_as("read the file", f"{folder.url}/{printable(path)}"), folder.open(path) as file:
        head: bytes = file.read(HEAD_BYTES)
        return head


@dataclass(frozen=True, slots=True)
class ForeignFiles:
    """The TFRecord files of a source or an adoption."""

    folder: Folder  # the folder that their paths start at
    files: tuple[ForeignFile, ...]  # the files that have records, sorted by path
    empty: tuple[ForeignFile, ...]  # those that have none

    @classmethod
    def of(cls, folder: Folder, found: Iterable[tuple[str, Entry]], leaving_out: str) -> "ForeignFiles":
        """Return files after a look at their first bytes; DataError: one is no TFRecord file, or all are empty.

        `leaving_out` says how the user leaves out a file, for errors, such as "leave it out".
        """
        entries = dict(sorted(found, key=lambda one: one[0]))
        stem_of = stems(entries)
        announced = _announced(folder)
        files, empty = list[ForeignFile](), list[ForeignFile]()
        heads = read_many(lambda path: read_head(folder, path), entries, _READING_THREADS)
        for (path, entry), head in zip(entries.items(), heads, strict=True):
            kind = compression_of(head)
            of_empty = empty_compression(head) if kind is None and entry.num_bytes <= HEAD_BYTES else None
            compression = of_empty if kind is None else kind
            if compression is None:
                msg = (
                    f"{folder.url}/{printable(path)}: this is no TFRecord file, plain, GZIP or ZLIB: it does not "
                    f"start with a record's length and CRC. Restore it, or {leaving_out}"
                )
                raise DataError(msg)
            kept = files if kind is not None else empty
            known = (split_of_file(path), stem_of[path], announced.get(path))
            kept.append(ForeignFile(path, entry.num_bytes, entry.mtime_ns, compression, *known))
        if not files:
            msg = f"{folder.url}: all TFRecord files are empty, such as {printable(empty[0].path)}; write them again"
            raise DataError(msg)
        return cls(folder, tuple(files), tuple(empty))

    @property
    def every(self) -> list[ForeignFile]:
        """All files, sorted by path."""
        return sorted([*self.files, *self.empty], key=lambda one: one.path)

    def missing_shards(self) -> list[str]:
        """Return a phrase for each set of shards that is incomplete."""
        return missing_shards(one.path for one in self.every)

    def sample(self, files: Sequence[ForeignFile], num_first: int, num_others: int) -> dict[str, list[Sampled]]:
        """Return the first records of files by path, without damaged ones; DataError: a file has none that can be read.

        Records of files behind the first WHOLE_FILES have long values cut. `num_first` is for the first file.
        """
        nums = [num_first, *[num_others] * (len(files) - 1)]
        read = read_many(
            lambda i: self._sample_file(files[i], nums[i], is_whole=i < WHOLE_FILES),
            range(len(files)),
            _READING_THREADS,
        )
        return {file.path: found for file, found in zip(files, read, strict=True)}

    def _sample_file(self, file: ForeignFile, num: int, *, is_whole: bool) -> list[Sampled]:
        url = f"{self.folder.url}/{printable(file.path)}"
        found, problem, num_bytes = list[Sampled](), "", 0
        with os_errors_as("read the file", url), self.folder.open(file.path) as opened:
            for frame in islice(frames(inflating(cast("BinaryIO", opened), file.compression)), _FIRST_RECORDS):
                try:
                    if frame.problem:
                        raise RecordError(frame.problem)
                    features = read_features(frame.data)
                    where = f"{printable(file.path)}, record {frame.number}"
                    found.append(Sampled(where, features if is_whole else _cut(features)))
                except RecordError as error:
                    problem = problem or f"record {frame.number}: {error}"
                num_bytes += len(frame.data)
                if len(found) == num or num_bytes > _FIRST_BYTES:
                    break
        if not found:
            msg = f"{url}: none of the first records can be read: {problem}"
            raise DataError(msg)
        return found

    def infer_layout(
        self, sampled: Sequence[Sampled], overrides: LayoutOverrides, *, has_splits: bool = False
    ) -> RecordLayout:
        """Return which feature of the records is what; see `inferring.infer_layout`."""
        try:
            return infer_layout(sampled, overrides, tfds=self._tfds(), has_splits=has_splits)
        except DataError as error:
            msg = f"{printable(self.folder.url)}: {error}"
            raise DataError(msg) from None

    def _tfds(self) -> TfdsFeatures | None:
        features = _read(self.folder, FEATURES)
        if features is None:
            return None
        return read_tfds_features(features, _read(self.folder, DATASET_INFO), self.folder.url)

    def label_names(self, label: LabelFeature, features: Collection[str]) -> LabelNames | None:
        """Return the names of a label's numbers that a file next to the records has; None if there is none.

        `features` has the names of all features: a file of names belongs to the feature that it is named after.
        """
        folder = self.folder
        others = {labels_file(name) for name in features}
        found = [one.name for one in self._entries() if one.name.endswith(LABELS_ENDING) and not one.is_folder]
        path = labels_file(label.name)
        if path not in found and len(found) == 1 and found[0] not in others and label.names is None:
            path = found[0]
        if path in found and (names := _labels(folder, path)):
            return LabelNames(names, 0, path)
        if label.names is not None:
            return None
        if numbered := numbered_names(_labels(folder, _SLIM_LABELS), _SLIM_LABELS):
            return numbered
        vocabularies = [one.name for one in self._entries(_VOCABULARIES) if one.name.startswith(_VOCABULARY)]
        if len(vocabularies) != 1:
            return None
        path = f"{_VOCABULARIES}/{vocabularies[0]}"
        return LabelNames(_labels(folder, path), 0, path)

    def _entries(self, path: str = "") -> list[Entry]:
        with os_errors_as("list the folder", f"{self.folder.url}/{path}"):
            return [one for one in self.folder.scan(path) if not one.name.startswith(".")]


def _announced(folder: Folder) -> dict[str, int]:
    info = _read(folder, DATASET_INFO)
    return {} if info is None else shard_lengths(info, folder.url)


def _labels(folder: Folder, path: str) -> tuple[str, ...]:
    content = _read(folder, path)
    return () if content is None else read_labels(content, f"{folder.url}/{path}")


def _read(folder: Folder, path: str) -> bytes | None:
    with os_errors_as("read", f"{folder.url}/{path}"):
        return None if folder.stat(path) is None else folder.read(path)


def _cut(features: Features) -> Features:
    return {
        name: [value[:_CUT_BYTES] for value in values if isinstance(value, bytes)]
        if values and isinstance(values[0], bytes)
        else values
        for name, values in features.items()
    }


def number_problem(url: str, num_records: int, announced: int | None) -> str | None:
    """Return why a file has the wrong number of records; None if it has the right one, or none is announced."""
    if announced is None or announced == num_records:
        return None
    return (
        f"{url}: the file has {counted(num_records, 'record')}, and {DATASET_INFO} announces {announced:,}; copy the "
        f"file again, or move {DATASET_INFO} away to read what is there"
    )
