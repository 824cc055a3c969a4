"""WebDataset: .tar files with samples, which are members of one path up to the first dot of the name.

    train-000000.tar    cat/0001.jpg  cat/0001.cls  cat/0001.json      image, class, and further data

As in the WebDataset library, the members of a sample follow each other. If the first labels are lists, samples have any
number of classes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa

from shardkit.archives.tar_members import BrokenTar, TarMember, buffered
from shardkit.archives.unpacking import COMPRESSED_TARS
from shardkit.errors import CallError, DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import IMAGE_ENDINGS, counted, printable, split_of_folder, split_of_path
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.record_sources.webdataset_labels import JSON_KEYS, LabelReader
from shardkit.record_sources.webdataset_names import NumberNames, find_number_names
from shardkit.record_sources.webdataset_samples import (
    MAX_DIVIDED_TARS,
    Tar,
    divide_tar,
    is_junk,
    labels_of,
    probe,
    samples,
    suffix,
)
from shardkit.refusals import RefusalError
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_NAME, MISSING, TRUNCATED
from shardkit.sources.claim import UsedFile
from shardkit.sources.columns import LABEL_NAMES, LISTING_SCHEMA, OFFSET, PATH
from shardkit.sources.listing import (
    BadRecord,
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.options import Opening
from shardkit.sources.walking import children, encodable_path, ending, folders_in, join
from shardkit.storage import Entry, Folder, os_errors_as

_COMPRESSED = (*COMPRESSED_TARS, ".tar.zst")


@dataclass(frozen=True, slots=True)
class WebDataset(Source):
    """A source of .tar shards."""

    folder: Folder
    tars: tuple[Tar, ...]
    json_keys: tuple[str, ...]  # keys of a .json that may have the class; the first that exists counts
    is_multi_label: bool  # samples have any number of classes
    is_file: bool  # SOURCE is the only shard itself
    other_files: tuple[tuple[str, int], ...]  # number of files next to the shards by ending
    number_names: NumberNames  # of classes that are numbers in the shards

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        several = [LABEL_NAMES] if self.is_multi_label else []
        return pa.schema([*LISTING_SCHEMA, PATH, OFFSET, *several])

    layout = LAYOUTS["webdataset"].title

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source."""
        return self.number_names.in_order or None

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        return (UsedFile(self.number_names.path, "class names"),) if self.number_names.path else ()

    def describe(self) -> str:
        """See Source."""
        several = ", any number of classes a sample" if self.is_multi_label else ""
        if self.is_file:
            [tar] = self.tars
            return f"{self.folder.url}/{tar.path}: read as {self.layout} ({tar.split or 'no split'}){several}"
        counts = Counter(tar.split or "no split" for tar in self.tars)
        several_splits = ", ".join(f"{count} of {name}" for name, count in counts.items())
        splits = several_splits if len(counts) > 1 else next(iter(counts))
        files = counted(len(self.tars), "tar file")
        return f"{self.folder.url}: read as {self.layout}, {files} ({splits}){several}{self.number_names.remark}"

    def parts(self) -> list[Tar]:
        """Return one part for each .tar."""
        return list(self.tars)

    def divided(self, part: Tar) -> list[Tar]:
        """See Source; pieces of a large .tar, if it is the only one."""
        return [part] if len(self.tars) > MAX_DIVIDED_TARS else divide_tar(self.folder, part)

    def list_part(self, part: Tar, batch_rows: int) -> Iterator[Listing]:
        """See Source; samples in the order of the .tar. Reads labels, and no images."""
        skipped = dict(self.other_files) if part.path == self.tars[0].path and not part.start else {}
        yield from batched(self.schema, map(self.number_names.name, self._rows(part, skipped)), batch_rows, skipped)

    def with_names(self) -> "WebDataset":
        """Return the source with the names of its numbers, if a file next to the shards has them."""
        rows = chain.from_iterable(self._rows(part, {}) for part in self.tars)
        found = find_number_names(self.folder, rows, is_multi_label=self.is_multi_label)
        counts = Counter(dict(self.other_files))
        counts.subtract([ending(found.path)] if found.path else [])
        return replace(self, number_names=found, other_files=tuple(sorted((+counts).items())))

    def _rows(self, part: Tar, skipped: dict[str, int]) -> Iterator[ListingRow]:
        url = f"{self.folder.url}/{part.path}"
        with os_errors_as("read the archive", url):
            found = self.folder.stat(part.path)
            if found is None:
                msg = f"{url}: the archive is gone; convert again"
                raise DataError(msg)
            part.refuse_changed(self.folder)
            with self.folder.open(part.path) as raw:
                file = buffered(raw)
                labels = LabelReader(file, self.json_keys, self.is_multi_label)
                yield from _TarReader(part, file, found.num_bytes, labels, skipped).rows()


@dataclass(slots=True)
class _TarReader:
    """Reads the rows of one .tar."""

    tar: Tar  # or a piece of it
    file: BinaryIO  # the open .tar
    num_bytes: int  # of the .tar
    labels: LabelReader  # reads from the same file
    skipped: dict[str, int]  # number of skipped members by ending; rows() adds to it
    problems: list[ListingRow] = field(default_factory=list)  # bad members since the last sample
    broken: str | None = None  # why the .tar cannot be read to its end; None if it can

    def rows(self) -> Iterator[ListingRow]:
        """Yield the rows of the samples, each after the bad members before it, and of a broken end."""
        for sample in samples(self._members()):
            yield from self.problems
            self.problems.clear()
            yield from self._sample(sample)
        yield from self.problems
        if self.broken:
            message = f"the archive {self.broken}; what is before is read. Copy it again, or pack it again"
            yield rejected_row(RecordProblem(encodable_path(self.tar.path), TRUNCATED, message), self.tar.split)

    def _members(self) -> Iterator[TarMember]:
        try:
            for member in self.tar.members(self.file, self.num_bytes):
                if is_junk(member):
                    continue
                if member.problem:
                    self.problems.append(self._bad_member(member.name, BAD_NAME, f"the member {member.problem}"))
                else:
                    yield member
        except BrokenTar as error:
            self.broken = str(error)

    def _sample(self, members: Sequence[TarMember]) -> Iterator[ListingRow]:
        images = []
        labels = labels_of(members)
        for one in members:
            kind = ending(one.name)
            if kind in IMAGE_ENDINGS:
                images.append(one)
            elif suffix(one.name) not in labels:
                count_skipped(self.skipped, kind)
        # Of "1.jpg" and "1.seg.png", the first is the image and the second one of its annotations.
        plain = [one for one in images if "." not in suffix(one.name)]
        if not images:
            if labels:
                name = next(iter(labels.values())).name
                yield self._bad_member(
                    name, MISSING, "the sample has a label and no image; add it, or remove the label"
                )
            return
        image = (plain or images)[0]
        key, entry = self._key(image.name), Entry(image.name, False, image.num_bytes, image.mtime_ns)  # noqa: FBT003
        if problem := self._image_problem(key, plain or images):
            yield rejected_row(problem, self.tar.split, entry)
            return
        try:
            names = self.labels.read(image, labels)
        except BadRecord as error:
            yield rejected_row(RecordProblem(key, error.reason, str(error)), self.tar.split, entry)
            return
        extra: tuple[Any, ...] = (self.tar.path, image.offset)
        if self.labels.is_multi_label:
            yield ListingRow(key, self.tar.split, None, image.num_bytes, image.mtime_ns, extra=(*extra, names))
        else:
            yield ListingRow(key, self.tar.split, names[0], image.num_bytes, image.mtime_ns, extra=extra)

    @staticmethod
    def _image_problem(key: str, images: Sequence[TarMember]) -> RecordProblem | None:
        if len(images) > 1:
            others = " and ".join(printable(one.name) for one in images)
            message = f"{others} are images of one sample; keep one, or name them apart"
            return RecordProblem(encodable_path(key), BAD_ANNOTATION, message)
        return unicode_problem(key)

    def _key(self, name: str) -> str:
        return f"{self.tar.path[: -len('.tar')]}/{name}"

    def _bad_member(self, name: str, reason: str, message: str) -> ListingRow:
        return rejected_row(RecordProblem(encodable_path(self._key(name)), reason, message), self.tar.split)


def is_webdataset(folder: Folder) -> bool:
    """Return whether a folder has .tar files, itself or in split folders, and no other folders."""
    names = folders_in(folder)
    return any(is_tar(entry.name) for _, entry in _files(folder)) and all(split_of_folder(name) for name in names)


def holds_samples(folder: Folder, name: str) -> bool:
    """Return whether a .tar that is the source has a WebDataset's samples; if not, it has ordinary folders."""
    first = probe(folder, name, JSON_KEYS)
    return first.are_labelled if name.lower().endswith(COMPRESSED_TARS) else not first.is_plain_tree


def holds_shards(folder: Folder, name: str, *, is_alone: bool) -> bool:
    """Return whether the .tar files of a folder are a WebDataset, judging by one of them."""
    if is_alone or name.lower().endswith(COMPRESSED_TARS):
        return holds_samples(folder, name)
    return not probe(folder, name, JSON_KEYS).is_deep_tree


def open_webdataset(opening: Opening) -> WebDataset:
    """Find the tar files of a source; `label_columns` is the key of the class in the .json."""
    folder, excluded, options, name = opening.folder, opening.excluded, opening.options, opening.file
    if len(options.label_columns) > 1:
        msg = (
            f"a WebDataset's samples have their label at one key; give one {named('label_columns')}, the key in "
            "the .json"
        )
        raise CallError(msg)
    skipped: dict[str, int] = {}
    if name is None:
        paths = []
        for path, entry in _files(folder):
            if excluded and path.startswith(f"{excluded}/"):
                continue
            if is_tar(entry.name):
                paths.append(path)
            else:
                count_skipped(skipped, ending(entry.name))
    else:
        paths = [name]
    for path in paths:
        if path.lower().endswith(_COMPRESSED):
            msg = f"{folder.url}/{path}: shards are read in place, which is impossible in a compressed archive"
            raise DataError(f"{msg}; unpack it with gzip -d (bzip2, xz, zstd) to a plain .tar")
    if not paths:
        msg = f"{folder.url}: there is no .tar file in it or in its split folders"
        raise DataError(msg)
    if bad := next((problem for path in paths if (problem := unicode_problem(path))), None):
        msg = f"{folder.url}/{bad.key}: {bad.message}"
        raise DataError(msg)
    json_keys = options.label_columns or JSON_KEYS
    first = probe(folder, paths[0], json_keys)
    if first.is_deep_tree:
        msg = f"{folder.url}/{paths[0]}: its images lie in folders in folders, with no .cls or .json next to them"
        raise DataError(
            f"{msg}: that is not a WebDataset; give the .tar itself as SOURCE, or unpack it and give the folder"
        )
    if first.have_no_classes and options.layout is None and not options.label_columns:
        no_label = (
            f"{folder.url}/{paths[0]}: its samples have no label: no .cls, and no {', '.join(map(repr, JSON_KEYS))} in "
            "a .json; a caption (.txt) is no label"
        )
        raise RefusalError(no_label, [Change("images without labels", {"unlabelled": True}, sources=(opening.url,))])
    tars = tuple(Tar(path, split_of_path(path)) for path in paths)
    others = tuple(sorted(skipped.items()))
    source = WebDataset(folder, tars, json_keys, first.have_lists, name is not None, others, NumberNames())
    return source if source.is_file or options.classes is not None else source.with_names()


def _files(folder: Folder) -> Iterator[tuple[str, Entry]]:
    """Yield path and entry of the files in a source and in its split folders."""
    places = ["", *(name for name in folders_in(folder) if split_of_folder(name))]
    for place in places:
        yield from ((join(place, one.name), one) for one in children(folder, place) if not one.is_folder)


def is_tar(name: str) -> bool:
    """Return whether a file is called as a .tar, compressed or not."""
    return name.lower().endswith((".tar", *_COMPRESSED))
