"""WebDataset: .tar files whose members of one path up to the first dot of the name are one sample.

    train-000000.tar    cat/0001.jpg  cat/0001.cls  cat/0001.json      image, class, and what else is known of it

The class is the text of ``.cls``, else ``label``, ``class`` or ``label_name`` of the ``.json``, else the member's first
folder. As in WebDataset itself, the members of a sample stand one behind the other.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from shardkit.errors import CallError, DataError
from shardkit.naming import printable, split_of_folder
from shardkit.sources.detection import encodable
from shardkit.sources.listing import (
    IMAGE_ENDINGS,
    LISTING_SCHEMA,
    OFFSET,
    PATH,
    Listing,
    Source,
    ending,
    is_ignored,
    unicode_problem,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.shard_names import split_of_path
from shardkit.sources.tar_members import BrokenTar, TarMember, buffered, tar_members
from shardkit.sources.walking import children, folders_in, join
from shardkit.storage import Folder, explained

_SCHEMA = pa.schema([*LISTING_SCHEMA, PATH, OFFSET])
_LABEL_ENDINGS = ("cls", "cls.txt")
_JSON_KEYS = ("label", "class", "label_name")
_MAX_LABEL_BYTES = 4 << 10  # 4 KiB: no class name is as long
_MAX_JSON_BYTES = 16 << 20  # 16 MiB
_COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")

_Row = tuple[str, str | None, str | None, int, int, str | None, str | None, str | None, int | None]


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
    """

    folder: Folder
    tars: tuple[Tar, ...]
    json_keys: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def layout(self) -> str:
        """See Source."""
        return "WebDataset"

    def describe(self) -> str:
        """See Source."""
        counts: dict[str, int] = {}
        for tar in self.tars:
            name = tar.split or "no split"
            counts[name] = counts.get(name, 0) + 1
        splits = ", ".join(f"{count} of {name}" for name, count in counts.items())
        return f"{self.folder.url}: read as {self.layout}, {len(self.tars)} tar files ({splits})"

    def parts(self) -> list[Tar]:
        """One part a .tar."""
        return list(self.tars)

    def list_part(self, part: Tar, batch_rows: int) -> Iterator[Listing]:
        """See Source; samples in the order of the .tar. No image is read; labels are."""
        batch = Listing(_SCHEMA)
        url = f"{self.folder.url}/{part.path}"
        with explained("read the archive", url):
            found = self.folder.stat(part.path)
            if found is None:
                msg = f"{url}: the archive is gone; convert again"
                raise DataError(msg)
            with self.folder.open(part.path) as raw:
                reader = _Reader(part, buffered(raw), found.num_bytes, self.json_keys, batch.skipped)
                for row in reader.rows():
                    batch.rows.append(row)
                    if len(batch.rows) == batch_rows:
                        yield batch
                        batch = Listing(_SCHEMA)
                        reader.skipped = batch.skipped
        if batch.rows or batch.skipped:
            yield batch


class _Bad(Exception):  # noqa: N818 - what is found in the data, not what goes wrong here
    """A sample that is no example: reason and message."""


@dataclass(slots=True)
class _Reader:
    """From one .tar to rows."""

    tar: Tar
    file: BinaryIO
    num_bytes: int
    json_keys: tuple[str, ...]
    skipped: dict[str, int]

    def rows(self) -> Iterator[_Row]:
        sample: list[TarMember] = []
        prefix = ""
        try:
            for member in tar_members(self.file, self.num_bytes):
                if any(is_ignored(part) for part in member.name.split("/") if part not in {".", ".."}):
                    continue
                if member.problem:
                    yield self._problem(member.name, "bad_name", f"the member {member.problem}")
                    continue
                found = _prefix(member.name)
                if found != prefix:
                    yield from self._sample(sample)
                    sample, prefix = [], found
                sample.append(member)
        except BrokenTar as error:
            yield from self._sample(sample)
            message = f"the archive {error}; what stands before is read. Copy it again from its origin, or pack it anew"
            yield (encodable_path(self.tar.path), self.tar.split, None, 0, 0, "truncated", message, None, None)
        else:
            yield from self._sample(sample)

    def _sample(self, members: Sequence[TarMember]) -> Iterator[_Row]:
        images = [one for one in members if ending(one.name) in IMAGE_ENDINGS]
        labels = {_suffix(one.name): one for one in members if _suffix(one.name) in {*_LABEL_ENDINGS, "json"}}
        for one in members:
            kind = ending(one.name)
            if kind not in IMAGE_ENDINGS and _suffix(one.name) not in labels:
                self.skipped[kind] = self.skipped.get(kind, 0) + 1
        # Of "1.jpg" and "1.seg.png" the first is the image, the other one of its annotations.
        plain = [one for one in images if "." not in _suffix(one.name)]
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
                raise _Bad("bad_annotation", f"{others} are images of one sample; keep one, or name them apart")
            if problem := unicode_problem(key):
                key = problem[0]
                raise _Bad(*problem[1:])
            label_name = self._label(image, labels)
        except _Bad as error:
            yield (key, self.tar.split, None, image.num_bytes, image.mtime_ns, *error.args, None, None)
        else:
            place = (self.tar.path, image.offset)
            yield (key, self.tar.split, label_name, image.num_bytes, image.mtime_ns, None, None, *place)

    def _label(self, image: TarMember, labels: dict[str, TarMember]) -> str:
        for suffix in _LABEL_ENDINGS:
            if suffix in labels:
                text = self._text(labels[suffix], _MAX_LABEL_BYTES).strip()
                if not text:
                    raise _Bad("no_label", f"{printable(labels[suffix].name)} is empty; write the class into it")
                return text
        if "json" in labels and (found := self._label_of_json(labels["json"])):
            return found
        above, separator, _ = image.name.partition("/")
        if not separator:
            raise _Bad("no_label", "the sample has no .cls, no label in a .json, and lies in no folder; add one")
        return above

    def _label_of_json(self, member: TarMember) -> str | None:
        name = printable(member.name)
        try:
            content = json.loads(self._text(member, _MAX_JSON_BYTES))
        except (ValueError, RecursionError) as error:
            raise _Bad("bad_label", f"{name} is no JSON ({error}); mend it") from error
        for key in self.json_keys:
            value = content.get(key) if isinstance(content, dict) else None
            if isinstance(value, str) and value.strip():
                return encodable(value.strip())
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
            if value not in (None, ""):
                raise _Bad("bad_label", f"{key!r} in {name} is neither text nor a whole number; write one class")
        return None

    def _text(self, member: TarMember, max_bytes: int) -> str:
        if member.num_bytes > max_bytes:
            raise _Bad("bad_label", f"{printable(member.name)} has {member.num_bytes} bytes, too many for a label")
        self.file.seek(member.offset)
        try:
            return self.file.read(member.num_bytes).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _Bad("bad_label", f"{printable(member.name)} is not UTF-8; write it as such") from None

    def _key(self, name: str) -> str:
        return f"{self.tar.path[: -len('.tar')]}/{name}"

    def _problem(self, name: str, reason: str, message: str) -> _Row:
        return (encodable_path(self._key(name)), self.tar.split, None, 0, 0, reason, message, None, None)


def encodable_path(path: str) -> str:
    """A path as it can stand in a table: bytes that are not UTF-8 are written out."""
    problem = unicode_problem(path)
    return problem[0] if problem else path


def _prefix(name: str) -> str:
    above, separator, base = name.rpartition("/")
    return f"{above}{separator}{base.partition('.')[0]}"


def _suffix(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[2].lower()


def is_webdataset(folder: Folder) -> bool:
    """Whether a folder holds tar files, itself or in folders of splits, and no other folders."""
    names = folders_in(folder)
    return bool(_tars(folder)) and all(split_of_folder(name) for name in names)


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
        DataError: there is no .tar, or a compressed one.
    """
    if len(options.label_columns) > 1:
        msg = "a WebDataset's samples have one class each; give one --label-column, the key in the .json"
        raise CallError(msg)
    paths = _tars(folder) if name is None else [name]
    paths = [path for path in paths if not (excluded and path.startswith(f"{excluded}/"))]
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
    return WebDataset(
        folder, tuple(Tar(path, split_of_path(path)) for path in paths), options.label_columns or _JSON_KEYS
    )


def _tars(folder: Folder) -> list[str]:
    places = ["", *(name for name in folders_in(folder) if split_of_folder(name))]
    return [
        join(place, entry.name)
        for place in places
        for entry in children(folder, place)
        if not entry.is_folder and entry.name.lower().endswith((".tar", *_COMPRESSED))
    ]
