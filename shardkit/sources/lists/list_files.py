"""A list file: each line names an image, and often its class: ``cats/1.jpg 0``, ``1.jpg,cat``, ``102 Cessna 172``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from shardkit.naming import printable
from shardkit.reject_reasons import BAD_LABEL, BAD_LINE, NO_LABEL
from shardkit.sources.listing import BadRecord
from shardkit.sources.lists.records import Fields, ListRecord, RecordReader, checked_key, read_fields, rejected
from shardkit.sources.tables.images.lookup import NameResolver
from shardkit.sources.walking import join
from shardkit.storage import Folder

# path: the whole line. last: the label follows the last separator. first: it follows the first one. front: the path
# follows the last separator, the label is before it.
Shape = Literal["path", "last", "first", "front"]
_INTEGER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ListFile(RecordReader):
    """Reads a list file.

    Attributes:
        folder: The folder that the list's path is below.
        path: The list.
        base: Folder below the source's folder that the images' paths start at.
        shape: Where the label is.
        separator: Text before the label; None for blanks.
        dropped: Number of leading parts of each path that are left out.
        by_name: Whether paths lack their ending, so that files are looked up.
        label_part: Part of the key, from 0, that is the class of a list without labels; None if it has labels.
        class_names: Class names by integer label; () if labels are names.
        first_label: The label of the first class name.
        split: The split of all its images; None if it gives none.
    """

    folder: Folder
    path: str
    base: str
    shape: Shape
    separator: str | None
    dropped: int
    by_name: bool
    label_part: int | None = None
    class_names: tuple[str, ...] = ()
    first_label: int = 0
    split: str | None = None

    @property
    def has_labels(self) -> bool:
        """Whether the lines have labels."""
        return self.shape != "path"

    def records(self, folder: Folder, skipped: dict[str, int]) -> Iterator[ListRecord]:
        """See RecordReader."""
        del skipped
        names = NameResolver(folder) if self.by_name else None
        for fields in self.lines():
            place, key = f"{self.path}, line {fields.line}", None
            try:
                if fields.problem:
                    raise BadRecord(BAD_LINE, fields.problem)
                path, label = self._divided(fields)
                key = self.key(path)
                if names:
                    key = names.find(key) or key
                labels = (self._label(key, label),)
            except BadRecord as error:
                yield rejected(place, fields.line, self.split, error, key)
            else:
                yield ListRecord(key, self.split, labels, place, fields.line)

    def lines(self) -> Iterator[Fields]:
        """Yield the lines, each as one field."""
        return (line for line in read_fields(self.folder, self.path, "\n") if not line.values[0].startswith("#"))

    def keys(self, folder: Folder) -> Iterator[str]:
        """See RecordReader."""
        return RecordReader.keys(self, folder) if self.by_name else self.images()

    def images(self) -> Iterator[str]:
        """Yield the key of each line that has one, without looking up files."""
        for fields in self.lines():
            try:
                if not fields.problem:
                    yield self.key(self._divided(fields)[0])
            except BadRecord:  # noqa: PERF203 - its record is rejected when it is listed
                continue

    def labels(self) -> Iterator[str]:
        """Yield the label of each line that has one."""
        for fields in self.lines():
            if not fields.problem and (divided := divide(fields.values[0], self.shape, self.separator)):
                yield divided[1]

    def key(self, path: str) -> str:
        """Return the key of a path in the list.

        Raises:
            BadRecord: BAD_PATH.
        """
        return join(self.base, checked_key(_relative(path, self.dropped)))

    def _divided(self, fields: Fields) -> tuple[str, str]:
        divided = divide(fields.values[0], self.shape, self.separator)
        if divided is None:
            msg = f"{printable(fields.values[0][:100])!r} has no label where other lines have one; add it"
            raise BadRecord(BAD_LINE if " " in fields.values[0] else NO_LABEL, msg)
        return divided

    def _label(self, key: str, label: str) -> str:
        if self.label_part is not None:
            parts = key.split("/")
            if self.label_part >= len(parts) - 1:
                msg = "it lies outside every class folder, and the list gives no label"
                raise BadRecord(NO_LABEL, msg)
            return parts[self.label_part]
        if not self.class_names:
            return label
        number = int(label) - self.first_label if _INTEGER.fullmatch(label) else -1
        if not 0 <= number < len(self.class_names):
            msg = f"the label {printable(label[:100])!r} is not the number of a class; correct it"
            raise BadRecord(BAD_LABEL, msg)
        return self.class_names[number]


def divide(line: str, shape: Shape, separator: str | None) -> tuple[str, str] | None:
    """Return a line's path and label; None if it has no label where the shape has one."""
    if shape == "path":
        return line, ""
    parts = line.split(separator, 1) if shape == "first" else line.rsplit(separator, 1)
    path, label = (part.strip() for part in parts) if len(parts) > 1 else (line, "")
    if shape == "front":
        path, label = label, path
    return (path, label) if path and label else None


def _relative(path: str, dropped: int) -> str:
    relative = path.replace("\\", "/")
    while relative.startswith("./"):
        relative = relative[2:]
    return "/".join(relative.lstrip("/").split("/")[dropped:])
