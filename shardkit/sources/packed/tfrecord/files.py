"""Find the TFRecord files of a source, and read the first records of each."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import BinaryIO, cast

from shardkit.dataset.foreign.compression import Compression, compression_of, inflating, is_empty
from shardkit.dataset.foreign.file_names import is_tfrecord_name, split_of_file, stems
from shardkit.dataset.foreign.found_features import Sampled
from shardkit.dataset.foreign.frames import frames
from shardkit.dataset.foreign.values import Features, read_features
from shardkit.errors import DataError, RecordError
from shardkit.naming import split_of_folder
from shardkit.sources.listing import ending, unicode_problem
from shardkit.sources.walking import children, folders_in, is_image, join
from shardkit.storage import Entry, Folder, os_errors_as

_HEAD_BYTES = 64 << 10  # 64 KiB
_FIRST_RECORDS = 64  # of the first file, which decide what the features mean
_FIRST_BYTES = 32 << 20  # 32 MiB of them
WHOLE_FILES = 64  # of which sampled records are kept whole; of others long values are cut, to bound memory
_CUT_BYTES = 4 << 10  # 4 KiB
_READING_THREADS = 32  # an object store takes 50 ms for a file


@dataclass(frozen=True, slots=True)
class TfrecordFile:
    """A part of the source: one file.

    Attributes:
        path: Its path.
        split: The split of all of its records, if a folder's name or its own gives one.
        stem: The beginning of its keys.
        compression: How it is compressed.
        mtime_ns: Its modification time.
        num_records: Number of records that the dataset's own files announce; None if they do not.
    """

    path: str
    split: str | None
    stem: str
    compression: Compression
    mtime_ns: int
    num_records: int | None = None


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The TFRecord files of a source, and what is next to them.

    Attributes:
        files: The files that have records, sorted by path.
        empty: Paths of those that have none.
        skipped: Number of other files by ending.
    """

    files: tuple[TfrecordFile, ...]
    empty: tuple[str, ...]
    skipped: tuple[tuple[str, int], ...]


def is_tfrecord_folder(folder: Folder) -> bool:
    """Return whether a folder has TFRecord files, itself or in split folders, and no images next to them."""
    names = folders_in(folder)
    first = next((path for path, entry in _files(folder) if is_tfrecord_name(entry.name)), None)
    if first is None:
        return False
    head = _head(folder, first)
    if compression_of(head) is None and not is_empty(head):
        return False
    places = ["", *(name for name in names if not split_of_folder(name))]
    return not any(is_image(one.name) for place in places for one in children(folder, place) if not one.is_folder)


def is_tfrecord_file(folder: Folder, name: str) -> bool:
    """Return whether a file has the name of TFRecord files, or their content."""
    return is_tfrecord_name(name) or compression_of(_head(folder, name)) is not None


def find_files(folder: Folder, excluded: str | None, named: Sequence[str] = ()) -> FoundFiles:
    """Find the TFRecord files of a source.

    Args:
        folder: The source, or the folder that the files and folders of the source are in.
        excluded: Path below it that is not listed; None for none.
        named: Paths below it of the files and folders that are the source; () for the folder itself. Of a folder, the
            files in it and in its split folders are read.

    Raises:
        DataError: There is none, or all are empty, or one with the name of a TFRecord file is something else.
    """
    found, skipped = list[tuple[str, Entry]](), dict[str, int]()
    for one in named or [""]:
        whole = folder.stat(one) if one else None
        if whole is not None and not whole.is_folder:
            found.append((one, whole))
            continue
        for path, entry in _files(folder, one):
            if excluded and path.startswith(f"{excluded}/"):
                continue
            if is_tfrecord_name(entry.name):
                found.append((path, entry))
            else:
                skipped[ending(entry.name)] = skipped.get(ending(entry.name), 0) + 1
    found.sort(key=itemgetter(0))  # whatever the order of `named`
    if not found:
        msg = (
            f"{folder.url}: there is no TFRecord file in it or in its split folders, such as train-00000-of-00010 or "
            "train.tfrecord; give the folder that has them"
        )
        raise DataError(msg)
    if bad := next((problem for path, _ in found if (problem := unicode_problem(path))), None):
        msg = f"{folder.url}/{bad.key}: {bad.message}"
        raise DataError(msg)
    stem_of = stems(path for path, _ in found)
    with ThreadPoolExecutor(_READING_THREADS) as pool:
        heads = pool.map(lambda path: _head(folder, path), [path for path, _ in found])
        files, empty = list[TfrecordFile](), list[str]()
        for (path, entry), head in zip(found, heads, strict=True):
            compression = compression_of(head)
            if compression is not None:
                files.append(TfrecordFile(path, split_of_file(path), stem_of[path], compression, entry.mtime_ns))
            elif entry.num_bytes <= _HEAD_BYTES and is_empty(head):
                empty.append(path)
            else:
                msg = (
                    f"{folder.url}/{path}: this is no TFRecord file, plain, GZIP or ZLIB: it does not start with a "
                    "record's length and CRC. Restore it, or leave it out with --ignore"
                )
                raise DataError(msg)
    if not files:
        msg = f"{folder.url}: all TFRecord files are empty, such as {empty[0]}; write them again"
        raise DataError(msg)
    return FoundFiles(tuple(files), tuple(empty), tuple(sorted(skipped.items())))


def sample(folder: Folder, files: Sequence[TfrecordFile]) -> dict[str, list[Sampled]]:
    """Return the first records of each file by path: 64 of the first one, and one of each other.

    Records of files behind the first WHOLE_FILES have long values cut.

    Raises:
        DataError: None of the first records of a file can be read.
    """
    with ThreadPoolExecutor(_READING_THREADS) as pool:
        read = pool.map(lambda i: _sample_numbered(folder, files[i], i), range(len(files)))
        return {file.path: found for file, found in zip(files, read, strict=True)}


def _sample_numbered(folder: Folder, file: TfrecordFile, index: int) -> list[Sampled]:
    found = _sample_file(folder, file, 1 if index else _FIRST_RECORDS)
    return found if index < WHOLE_FILES else [Sampled(where, _cut(features)) for where, features in found]


def _cut(features: Features) -> Features:
    return {
        name: [value[:_CUT_BYTES] for value in values if isinstance(value, bytes)]
        if values and isinstance(values[0], bytes)
        else values
        for name, values in features.items()
    }


def _sample_file(folder: Folder, file: TfrecordFile, num: int) -> list[Sampled]:
    url = f"{folder.url}/{file.path}"
    found, problem, num_bytes = list[Sampled](), "", 0
    with os_errors_as("read the file", url), folder.open(file.path) as opened:
        for frame in islice(frames(inflating(cast("BinaryIO", opened), file.compression)), _FIRST_RECORDS):
            try:
                if frame.problem:
                    problem = problem or frame.problem
                else:
                    found.append(Sampled(f"{file.path}, record {frame.number}", read_features(frame.data)))
            except RecordError as error:
                problem = problem or f"record {frame.number}: {error}"
            num_bytes += len(frame.data)
            if len(found) == num or num_bytes > _FIRST_BYTES:
                break
    if not found:
        msg = f"{url}: none of the first records can be read: {problem}"
        raise DataError(msg)
    return found


def _head(folder: Folder, path: str) -> bytes:
    with os_errors_as("read the file", f"{folder.url}/{path}"), folder.open(path) as file:
        head: bytes = file.read(_HEAD_BYTES)
        return head


def _files(folder: Folder, above: str = "") -> Iterator[tuple[str, Entry]]:
    """Yield path and entry of the files in a folder of a source, and in the split folders in it."""
    names = [entry.name for entry in children(folder, above) if entry.is_folder]
    for place in [above, *(join(above, name) for name in names if split_of_folder(name))]:
        yield from ((join(place, one.name), one) for one in children(folder, place) if not one.is_folder)
