"""A list file: each line names an image, and often its class: ``cats/1.jpg 0``, ``1.jpg,cat``, ``102 Cessna 172``."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from shardkit.naming import printable, relative_path_problem
from shardkit.sources.engine.prefixes import common_parts
from shardkit.sources.formats.list_fields import Fields, read_fields
from shardkit.sources.walking import is_image, join
from shardkit.storage import Folder

# path: the whole line. last: the label follows the last separator. first: it follows the first one. front: the path
# follows the last separator, the label is before it.
Shape = Literal["path", "last", "first", "front"]
_SAMPLE = 200  # lines that are looked at
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")
_BETWEEN_FIELDS = re.compile(r"[\s,;]+")
_SEVERAL = re.compile(r"\t|\S[,;]\S")
_FRACTION = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class ListFile:
    """How a list file is read.

    Attributes:
        folder: The folder that the list's path is below.
        path: The list.
        base: Folder below the source's folder that the images' paths start at.
        shape: Where the label is.
        separator: Text before the label; None for blanks.
        dropped: Number of leading parts of each path that are left out.
        by_name: Whether paths lack their ending.
        label_part: Part of the key, from 0, that is the class of a list without labels; None if it has labels.
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
    split: str | None = None

    @property
    def has_labels(self) -> bool:
        """Whether the lines have labels."""
        return self.shape != "path"

    @property
    def expression(self) -> str:
        """The regular expression of its lines, whose columns are the image and its label."""
        blank = self.separator is None
        between = r"\s+" if blank else rf"\s*{re.escape(self.separator or '')}\s*"
        word = r"\S+" if blank else f"[^{re.escape(self.separator or '')}]*[^{re.escape(self.separator or '')}\\s]"
        start, slash, part = self._start(), r"[/\\]", r"[^/\\]+"
        match self.shape:
            case "last":
                return f"{start}(?P<image>.+?)(?:{between}(?P<label>{word}))?"
            case "first":
                return f"{start}(?P<image>{word})(?:{between}(?P<label>.+))?"
            case "front":
                return f"(?P<label>.+?){between}{start}(?P<image>{word})"
        above = len(self.base.split("/")) if self.base else 0
        depth = (self.label_part or 0) - above
        higher = "" if depth < 1 else f"{part}{slash}" if depth == 1 else f"(?:{part}{slash}){{{depth}}}"
        return f"{start}(?P<image>(?:{higher}(?P<label>{part}){slash})?.+)"

    def _start(self) -> str:
        """Return the expression of what is before the path that counts."""
        dropped = r"[^/\\]+[/\\]" if self.dropped == 1 else rf"(?:[^/\\]+[/\\]){{{self.dropped}}}"
        paths = (divide(one.values[0], self.shape, self.separator) for one in islice(self.lines(), _SAMPLE))
        has_root = any(one and one[0].startswith(("/", "\\", "./", ".\\")) for one in paths)
        return r"(?:\.?[/\\])*" * has_root + dropped * bool(self.dropped)

    def lines(self) -> Iterator[Fields]:
        """Yield the lines, each as one field."""
        return (line for line in read_fields(self.folder, self.path, "\n") if not line.values[0].startswith("#"))

    def images(self) -> Iterator[str]:
        """Yield the key of each line that has one, without looking up files."""
        for fields in self.lines():
            divided = None if fields.problem else divide(fields.values[0], self.shape, self.separator)
            if divided and (key := self.key(divided[0])):
                yield key

    def labels(self) -> Iterator[str]:
        """Yield the label of each line that has one."""
        for fields in self.lines():
            if not fields.problem and (divided := divide(fields.values[0], self.shape, self.separator)):
                yield divided[1]

    def key(self, path: str) -> str | None:
        """Return the key of a path in the list; None if it may not be followed."""
        relative = _relative(path, self.dropped)
        return None if relative_path_problem(relative) else join(self.base, relative)


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

    None if the images lie in one folder.
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
