"""WebDataset: .tar files whose members of one path up to the first dot of the name are one sample.

    train-000000.tar    cat/0001.jpg  cat/0001.cls  cat/0001.json      image, class, and what else is known of it

As in WebDataset itself, the members of a sample stand one behind the other. Where the first labels are lists, samples
have any number of classes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa

from shardkit.archives.tar_members import BrokenTar, TarMember, buffered, tar_members
from shardkit.errors import CallError, DataError
from shardkit.naming import printable, split_of_folder
from shardkit.sources.detection.rows import counted
from shardkit.sources.listing import (
    IMAGE_ENDINGS,
    LABEL_NAMES,
    LISTING_SCHEMA,
    OFFSET,
    PATH,
    Listing,
    Source,
    encodable_path,
    ending,
    unicode_problem,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.packed.webdataset_labels import JSON_KEYS, BadSample, LabelReader
from shardkit.sources.packed.webdataset_samples import is_junk, labels_of, probe, samples, suffix
from shardkit.sources.path_splits import split_of_path
from shardkit.sources.walking import children, folders_in, join
from shardkit.storage import Entry, Folder, os_errors_as

_COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")

_Row = tuple[Any, ...]  # of the source's schema


@dataclass(frozen=True, slots=True)
class Tar:
    """What one worker lists.

    Attributes:
        path: of the .tar.
        split: of all of it, where its name or folder tells.
    """

    path: str
    split: str | None


@dataclass(frozen=True, slots=True)
class WebDataset(Source):
    """Tar shards.

    Attributes:
        folder: that their paths are below.
        tars: the shards.
        json_keys: of a .json, what may be the class; the first that is there counts.
        is_multi_label: whether samples have any number of classes.
        is_file: whether the only shard is what the user called the source.
        beside: files that lie beside the shards, counted by ending.
    """

    folder: Folder
    tars: tuple[Tar, ...]
    json_keys: tuple[str, ...]
    is_multi_label: bool
    is_file: bool
    beside: tuple[tuple[str, int], ...]

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        several = [LABEL_NAMES] if self.is_multi_label else []
        return pa.schema([*LISTING_SCHEMA, PATH, OFFSET, *several])

    @property
    def layout(self) -> str:
        """See Source."""
        return "WebDataset"

    def describe(self) -> str:
        """See Source."""
        several = ", any number of classes a sample" if self.is_multi_label else ""
        if self.is_file:
            [tar] = self.tars
            return f"{self.folder.url}/{tar.path}: read as {self.layout} ({tar.split or 'no split'}){several}"
        counts: dict[str, int] = {}
        for tar in self.tars:
            name = tar.split or "no split"
            counts[name] = counts.get(name, 0) + 1
        several_splits = ", ".join(f"{count} of {name}" for name, count in counts.items())
        splits = several_splits if len(counts) > 1 else next(iter(counts))
        files = counted(len(self.tars), "tar file")
        return f"{self.folder.url}: read as {self.layout}, {files} ({splits}){several}"

    def parts(self) -> list[Tar]:
        """One part a .tar."""
        return list(self.tars)

    def list_part(self, part: Tar, batch_rows: int) -> Iterator[Listing]:
        """See Source; samples in the order of the .tar. No image is read; labels are."""
        schema = self.schema
        batch = Listing(schema, skipped=dict(self.beside) if part == self.tars[0] else {})
        url = f"{self.folder.url}/{part.path}"
        with os_errors_as("read the archive", url):
            found = self.folder.stat(part.path)
            if found is None:
                msg = f"{url}: the archive is gone; convert again"
                raise DataError(msg)
            with self.folder.open(part.path) as raw:
                file = buffered(raw)
                labels = LabelReader(file, self.json_keys, self.is_multi_label)
                reader = _Reader(part, file, found.num_bytes, labels, batch.skipped)
                for row in reader.rows():
                    batch.rows.append(row)
                    if len(batch.rows) == batch_rows:
                        yield batch
                        batch = Listing(schema)
                        reader.skipped = batch.skipped
        if batch.rows or batch.skipped:
            yield batch


@dataclass(slots=True)
class _Reader:
    """From one .tar to rows."""

    tar: Tar
    file: BinaryIO
    num_bytes: int
    labels: LabelReader
    skipped: dict[str, int]
    problems: list[_Row] = field(default_factory=list)  # met since the last sample
    broken: str | None = None

    def rows(self) -> Iterator[_Row]:
        for sample in samples(self._members()):
            yield from self.problems
            self.problems.clear()
            yield from self._sample(sample)
        yield from self.problems
        if self.broken:
            message = (
                f"the archive {self.broken}; what stands before is read. Copy it again from its origin, or pack it"
            )
            yield self._row(encodable_path(self.tar.path), 0, 0, reason="truncated", message=f"{message} anew")

    def _members(self) -> Iterator[TarMember]:
        try:
            for member in tar_members(self.file, self.num_bytes):
                if is_junk(member):
                    continue
                if member.problem:
                    self.problems.append(self._problem(member.name, "bad_name", f"the member {member.problem}"))
                else:
                    yield member
        except BrokenTar as error:
            self.broken = str(error)

    def _sample(self, members: Sequence[TarMember]) -> Iterator[_Row]:
        images = [one for one in members if ending(one.name) in IMAGE_ENDINGS]
        labels = labels_of(members)
        for one in members:
            kind = ending(one.name)
            if kind not in IMAGE_ENDINGS and suffix(one.name) not in labels:
                self.skipped[kind] = self.skipped.get(kind, 0) + 1
        # Of "1.jpg" and "1.seg.png" the first is the image, the other one of its annotations.
        plain = [one for one in images if "." not in suffix(one.name)]
        if not images:
            if labels:
                name = next(iter(labels.values())).name
                yield self._problem(name, "missing", "the sample has a label and no image; add it, or take it out")
            return
        image = (plain or images)[0]
        key = self._key(image.name)
        try:
            if len(plain or images) > 1:
                others = " and ".join(printable(one.name) for one in plain or images)
                raise BadSample("bad_annotation", f"{others} are images of one sample; keep one, or name them apart")
            if problem := unicode_problem(key):
                key = problem[0]
                raise BadSample(*problem[1:])
            names = self.labels.read(image, labels)
        except BadSample as error:
            reason, message = error.args
            yield self._row(key, image.num_bytes, image.mtime_ns, reason=reason, message=message)
        else:
            yield self._row(key, image.num_bytes, image.mtime_ns, names=names, offset=image.offset)

    def _row(
        self,
        key: str,
        num_bytes: int,
        mtime_ns: int,
        *,
        names: list[str] | None = None,
        offset: int | None = None,
        reason: str | None = None,
        message: str | None = None,
    ) -> _Row:
        path = None if offset is None else self.tar.path
        label_name = names[0] if names and not self.labels.is_multi_label else None
        row = (key, self.tar.split, label_name, num_bytes, mtime_ns, reason, message, path, offset)
        return (*row, names) if self.labels.is_multi_label else row

    def _key(self, name: str) -> str:
        return f"{self.tar.path[: -len('.tar')]}/{name}"

    def _problem(self, name: str, reason: str, message: str) -> _Row:
        return self._row(encodable_path(self._key(name)), 0, 0, reason=reason, message=message)


def is_webdataset(folder: Folder) -> bool:
    """Whether a folder holds tar files, itself or in folders of splits, and no other folders."""
    names = folders_in(folder)
    return any(_is_tar(entry) for _, entry in _files(folder)) and all(split_of_folder(name) for name in names)


def holds_samples(folder: Folder, name: str) -> bool:
    """Whether a .tar that is the source holds a WebDataset's samples; else it is a tree of folders like any other."""
    return name.lower().endswith(_COMPRESSED) or not probe(folder, name, JSON_KEYS).is_plain_tree


def open_webdataset(
    folder: Folder, excluded: str | None, options: SourceOptions, name: str | None = None
) -> WebDataset:
    """Find the tar files of a source.

    Args:
        folder: the source, or the folder that the .tar lies in.
        excluded: path below it that is left out.
        options: of the call; label_columns names the .json's key of the class.
        name: of the .tar that is the source; None for all in the folder.

    Raises:
        CallError: several label_columns.
        DataError: there is no .tar, or a compressed one, or the first one holds folders in folders and no labels.
    """
    if len(options.label_columns) > 1:
        msg = "a WebDataset's samples have their label at one key; give one --label-column, the key in the .json"
        raise CallError(msg)
    skipped: dict[str, int] = {}
    if name is None:
        paths = []
        for path, entry in _files(folder):
            if excluded and path.startswith(f"{excluded}/"):
                continue
            if _is_tar(entry):
                paths.append(path)
            else:
                skipped[ending(entry.name)] = skipped.get(ending(entry.name), 0) + 1
    else:
        paths = [name]
    for path in paths:
        if path.lower().endswith(_COMPRESSED):
            msg = f"{folder.url}/{path}: shards are read in place, which a compressed archive does not allow"
            raise DataError(f"{msg}; unpack it with gzip -d (bzip2, xz, zstd) to a plain .tar")
    if not paths:
        msg = f"{folder.url}: there is no .tar file in it or in its split folders"
        raise DataError(msg)
    if bad := next((problem for path in paths if (problem := unicode_problem(path))), None):
        msg = f"{folder.url}/{bad[0]}: {bad[2]}"
        raise DataError(msg)
    json_keys = options.label_columns or JSON_KEYS
    first = probe(folder, paths[0], json_keys)
    if first.is_deep_tree:
        msg = f"{folder.url}/{paths[0]}: its images lie in folders in folders, with no .cls or .json beside them"
        raise DataError(
            f"{msg}: that is no WebDataset; give the .tar itself as SOURCE, or unpack it and give the folder"
        )
    tars = tuple(Tar(path, split_of_path(path)) for path in paths)
    return WebDataset(
        folder, tars, json_keys, first.have_lists, is_file=name is not None, beside=tuple(sorted(skipped.items()))
    )


def _files(folder: Folder) -> Iterator[tuple[str, Entry]]:
    """Path and entry of the files in a source and in its folders of splits."""
    places = ["", *(name for name in folders_in(folder) if split_of_folder(name))]
    for place in places:
        yield from ((join(place, one.name), one) for one in children(folder, place) if not one.is_folder)


def _is_tar(entry: Entry) -> bool:
    return entry.name.lower().endswith((".tar", *_COMPRESSED))
