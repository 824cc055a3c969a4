"""A list file: each line names an image, and often its class: ``cats/1.jpg 0``, ``1.jpg,cat``, ``102 Cessna 172``."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from shardkit.naming import printable
from shardkit.reject_reasons import BAD_LABEL, BAD_LINE, NO_LABEL
from shardkit.sources.listing import BadRecord
from shardkit.sources.lists.records import Fields, ListRecord, RecordReader, checked_key, read_fields, rejected
from shardkit.sources.tables.images.lookup import NameResolver
from shardkit.sources.tables.images.prefixes import common_parts
from shardkit.sources.walking import is_image, join
from shardkit.storage import Folder

# path: the whole line. last: the label follows the last separator. first: it follows the first one. front: the path
# follows the last separator, the label is before it.
Shape = Literal["path", "last", "first", "front"]
_INTEGER = re.compile(r"\d+")
_SAMPLE = 200  # lines that are looked at
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")
_BETWEEN_FIELDS = re.compile(r"[\s,;]+")
_SEVERAL = re.compile(r"\t|\S[,;]\S")
_FRACTION = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")


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
    def url(self) -> str:
        """See RecordReader."""
        return join(self.folder.url, self.path)

    @property
    def gives_splits(self) -> bool:
        """See RecordReader."""
        return self.split is not None

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


def names_masks(form: ListFile) -> bool:
    """Return whether the labels of a list are images: it pairs images with masks."""
    sample = list(islice(form.labels(), _SAMPLE)) if form.has_labels else []
    return bool(sample) and all(map(is_image, sample))


def unusual_labels(form: ListFile) -> str | None:
    """Return what the labels of a list are if they are not classes, as a phrase; None if they may be classes."""
    sample = list(islice(form.labels(), _SAMPLE)) if form.has_labels else []
    if sample and 2 * sum(map(_is_several_fields, sample)) > len(sample):
        return f"several fields on a line, such as {printable(sample[0][:60])!r}"
    if any(_FRACTION.fullmatch(one) and float(one) % 1 for one in sample):
        return "numbers with fractions"
    return None


def _is_several_fields(label: str) -> bool:
    """Return whether a label is more than one field: ``10,20,30,40,0`` or ``3 144 998 cat``, not ``Cessna 172``."""
    fields = _BETWEEN_FIELDS.split(label)
    return len([one for one in fields if _NUMBER.fullmatch(one)]) > 1 or _SEVERAL.search(label) is not None


def label_part(forms: Sequence[ListFile]) -> int | None:
    """Return which part of the keys is the class in lists without labels: the first in which keys differ.

    Lists are sorted by class, and a short one may have a single class: so every line of all lists counts.

    Returns:
        The part, from 0; None if the images lie in one folder.
    """
    depths = [_common_depth(posixpath.dirname(key).split("/") for key in form.images()) for form in forms]
    depth = min((one for one in depths if one is not None), default=0)
    classes = [_parts_at(form.images(), depth) for form in forms]
    # Lists of train2017/ and val2017/ have no classes, though the folders differ.
    is_split_folders = len(forms) > 1 and all(len(one) == 1 for one in classes) and len(set.union(*classes)) > 1
    return depth if any(classes) and not is_split_folders else None


def are_letters(forms: Sequence[ListFile], part: int) -> bool:
    """Return whether a part of the keys is the first letter of the next one, as in SUN397's ``a/abbey/``."""
    found = [key.split("/")[part : part + 2] for form in forms for key in islice(form.images(), _SAMPLE)]
    return all(len(two) > 1 and two[0].lower() == two[1][:1].lower() for two in found)


def _parts_at(keys: Iterable[str], depth: int) -> set[str]:
    return {parts[depth] for key in keys if len(parts := key.split("/")) > depth + 1}


def _common_depth(folders: Iterable[list[str]]) -> int | None:
    common: list[str] | None = None
    for parts in folders:
        common = parts if common is None else common_parts(common, parts)
    return None if common is None else len([part for part in common if part])
