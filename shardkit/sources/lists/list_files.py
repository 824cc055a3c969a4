"""A list file: each line names an image, and often its class: ``cats/1.jpg 0``, ``1.jpg,cat``, ``1025794 Cessna 172``.

Nothing in such a file says where the path ends and which folder it starts in, so both are decided by which reading
names images that exist.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, NamedTuple

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_LABEL, BAD_LINE, NO_LABEL
from shardkit.sources.commands import Command, refusal
from shardkit.sources.listing import IMAGE_ENDINGS, BadRecord, ending
from shardkit.sources.lists.records import Fields, ListRecord, RecordReader, checked_key, read_fields, rejected
from shardkit.sources.tables.lookup import NameResolver
from shardkit.sources.walking import file_or_folder, join
from shardkit.storage import Folder

# path: the whole line. last: the label follows the last separator. first: it follows the first one.
Shape = Literal["path", "last", "first"]
_SAMPLE = 200  # lines by which the form of a list is decided
_LOOKED_UP = 8  # of these, those whose images are looked up
_MAX_SHOWN = 3  # folders that a refusal names
_MAX_DROPPED = 6  # leading folders of a path that may be of the computer the list was written on
_SEPARATORS = ("\t", ",", ";", None)  # None: blanks
_NUMBERS = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[\s,;]+[+-]?\d+(?:\.\d*)?)+")
_FRACTION = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
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
                    key = names.resolve(key)
                labels = (self._label(key, label),)
            except BadRecord as error:
                yield rejected(place, fields.line, self.split, error, key)
            else:
                yield ListRecord(key, self.split, labels, place, fields.line)

    def lines(self) -> Iterator[Fields]:
        """Yield the lines, each as one field."""
        return (line for line in read_fields(self.folder, self.path, "\n") if not line.values[0].startswith("#"))

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


class Bases(NamedTuple):
    """Folders that paths of a list may start at.

    Attributes:
        own: The list's folder and the source's folder.
        of_split: Other folders whose names mean the list's split.
        others: All other folders.
    """

    own: list[str]
    of_split: list[str]
    others: list[str]


def divide(line: str, shape: Shape, separator: str | None) -> tuple[str, str] | None:
    """Return a line's path and label; None if it has no label where the shape has one."""
    if shape == "path":
        return line, ""
    parts = line.rsplit(separator, 1) if shape == "last" else line.split(separator, 1)
    path, label = (part.strip() for part in parts) if len(parts) > 1 else (line, "")
    return (path, label) if path and label else None


def find_form(
    folder: Folder, lists: Folder, path: str, bases: Bases, *, needs_endings: bool = False
) -> ListFile | None:
    """Return how to read a list; None if no reading names images that exist.

    Args:
        folder: The source's folder.
        lists: The folder that the list's path is below.
        path: The list.
        bases: Folders below the source's folder in which images are looked up.
        needs_endings: Whether the list is accepted only if its paths end as images do.

    Raises:
        CallError: Several folders have images of the names in the list.
        DataError: The list is UTF-16.
        MachineError: The disk or the network failed.
    """
    fields = islice(read_fields(lists, path, "\n"), _SAMPLE)
    sample = [one.values[0] for one in fields if not one.problem and not one.values[0].startswith("#")]
    if not sample:
        return None
    names = NameResolver(folder)
    for dropped in range(_MAX_DROPPED + 1):
        for shape, separator in _shapes(sample):
            paths = [pair[0] for line in sample if (pair := divide(line, shape, separator))]
            paths = [one for one in paths if one.count("/") >= dropped and (not needs_endings or _is_image(one))]
            if 2 * len(paths) <= len(sample):
                continue
            plain = ListFile(lists, path, "", shape, separator, dropped, not any(map(_is_image, paths)))
            # What is left of horse/1.jpg is no image of cat/.
            for group in [bases.own] if dropped else bases:
                forms = (replace(plain, base=base) for base in group)
                fitting = [form for form in forms if _most_exist(names, form, _spread(paths))]
                if len(fitting) > 1 and group is not bases.own:
                    raise _several_bases(folder, fitting)
                if fitting:
                    return fitting[0]
    return None


def _several_bases(folder: Folder, forms: Sequence[ListFile]) -> CallError:
    one = forms[0]
    found = " and ".join(f"{printable(form.base)}/" for form in forms[:_MAX_SHOWN])
    commands = [
        Command(join(one.folder.url, one.path), ("--root", join(folder.url, form.base)), f"the images in {form.base}/")
        for form in forms[:_MAX_SHOWN]
    ]
    commands.append(Command(folder.url, ("--layout", "class-folders"), "each folder is a class"))
    return refusal(f"{one.folder.url}/{one.path}: the images that it names are in {found}", commands)


def names_masks(form: ListFile) -> bool:
    """Return whether the labels of a list are images: it pairs images with masks."""
    sample = list(islice(form.labels(), _SAMPLE)) if form.has_labels else []
    return bool(sample) and all(map(_is_image, sample))


def unusual_labels(form: ListFile) -> str | None:
    """Return what the labels of a list are if they are no classes, as a phrase; None if they may be classes."""
    sample = list(islice(form.labels(), _SAMPLE)) if form.has_labels else []
    if sample and all(map(_NUMBERS.fullmatch, sample)):
        return f"several numbers on a line, such as {printable(sample[0][:60])!r}"
    if any(_FRACTION.fullmatch(one) and float(one) % 1 for one in sample):
        return "numbers with fractions"
    return None


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


def _parts_at(keys: Iterable[str], depth: int) -> set[str]:
    return {parts[depth] for key in keys if len(parts := key.split("/")) > depth + 1}


def _common_depth(folders: Iterable[list[str]]) -> int | None:
    common: list[str] | None = None
    for parts in folders:
        if common is None:
            common = parts
        elif parts[: len(common)] != common:
            same = (a == b for a, b in zip(common, parts, strict=False))
            common = common[: next((i for i, equal in enumerate(same) if not equal), min(len(common), len(parts)))]
    return None if common is None else len([part for part in common if part])


def _shapes(sample: Sequence[str]) -> Iterator[tuple[Shape, str | None]]:
    yield "path", None
    for separator in _SEPARATORS:
        if separator is None or all(separator in line for line in sample):
            yield "last", separator
            yield "first", separator


def _spread(paths: Sequence[str]) -> list[str]:
    step = max(1, len(paths) // _LOOKED_UP)
    return list(dict.fromkeys(paths[::step]))[:_LOOKED_UP]


def _most_exist(names: NameResolver, form: ListFile, paths: Sequence[str]) -> bool:
    missing = 0
    for path in paths:
        missing += not _exists(names, form, path)
        if 2 * missing > len(paths) or missing == len(paths):
            return False
    return True


def _exists(names: NameResolver, form: ListFile, path: str) -> bool:
    try:
        key = form.key(path)
        if not form.by_name:
            found = file_or_folder(names.folder, key)
            return found is not None and not found.is_folder
        return _is_image(names.resolve(key))
    except BadRecord as error:
        return "may be" in str(error)  # several files: the listing rejects the record


def _is_image(path: str) -> bool:
    return ending(path) in IMAGE_ENDINGS


def _relative(path: str, dropped: int) -> str:
    relative = path.replace("\\", "/")
    while relative.startswith("./"):
        relative = relative[2:]
    return "/".join(relative.lstrip("/").split("/")[dropped:])
