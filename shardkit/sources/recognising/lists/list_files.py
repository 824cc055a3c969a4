"""A list file: each line names an image, and often its class: ``cats/1.jpg 0``, ``1.jpg,cat``, ``102 Cessna 172``.

Nothing in such a file says where the path ends: the way to divide lines that names images that exist counts.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.sources.engine.prefixes import common_parts
from shardkit.sources.engine.split_columns import split_of_file
from shardkit.sources.formats.list_fields import read_fields
from shardkit.sources.formats.tables.opening import open_list_files
from shardkit.sources.name_index import written_path
from shardkit.sources.recognising.claims.image_names import Found, ImageNames
from shardkit.sources.recognising.claims.searching import MAX_FILES, candidates
from shardkit.sources.recognising.lists.class_names import is_names_file
from shardkit.sources.walking import is_image, parent_of
from shardkit.storage import Folder

# path: the whole line. last: the label follows the last separator. first: it follows the first one. front: the path
# follows the last separator, the label is before it.
Shape = Literal["path", "last", "first", "front"]
_ENDINGS = frozenset(LAYOUTS["list"].endings or ())
_SAMPLE = 200  # lines that are looked at
_LOOKED_UP = 8  # of these, those whose images are looked up
_SEPARATORS = ("\t", ",", ";", None)  # None: blanks
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")
_BETWEEN_FIELDS = re.compile(r"[\s,;]+")
_SEVERAL = re.compile(r"\t|\S[,;]\S")
_FRACTION = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class ListFile:
    """How a list file is read."""

    folder: Folder  # the folder that the list's path is below
    path: str  # the list
    shape: Shape  # where the label is
    separator: str | None  # text before the label; None for blanks
    base: str = ""  # folder that the images' paths start at; '' if they are found without
    dropped: int = 0  # number of leading parts of each path that are left out
    is_exact: bool = False  # whether lines are paths from the source's folder
    # Whether each label goes with one folder of the images, and each folder with one label
    repeats_folders: bool = False
    # Part of the path, from 0, that is the class in a list without labels; None if it has labels
    label_part: int | None = None

    @property
    def has_labels(self) -> bool:
        """Whether the lines have labels."""
        return self.shape != "path"

    @property
    def split(self) -> str | None:
        """The split that the name means; None for none."""
        return split_of_file(self.path)

    @property
    def expression(self) -> str:
        """The regular expression of its lines, whose columns are the image and its label."""
        blank = self.separator is None
        between = r"\s+" if blank else rf"\s*{re.escape(self.separator or '')}\s*"
        word = r"\S+" if blank else f"[^{re.escape(self.separator or '')}]*[^{re.escape(self.separator or '')}\\s]"
        slash, part = r"[/\\]", r"[^/\\]+"
        start = rf"(?:\.{slash})?(?:[^/\\]*{slash}){{{self.dropped}}}" * bool(self.dropped)
        match self.shape:
            case "last":
                return f"{start}(?P<image>.+?)(?:{between}(?P<label>{word}))?"
            case "first":
                return f"{start}(?P<image>{word})(?:{between}(?P<label>.+))?"
            case "front":
                return f"(?P<label>.+?){between}{start}(?P<image>{word})"
        higher = rf"(?:\.?{slash})*" + f"(?:{part}{slash}){{{self.label_part}}}" * bool(self.label_part)
        return f"{start}(?P<image>(?:{higher}(?P<label>{part}){slash})?.+)"

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the path, from where it counts, and the label of each line that has both."""
        for line in _lines(self.folder, self.path):
            if divided := divide(line, self.shape, self.separator):
                parts = written_path(divided[0]).split("/")
                yield "/".join(parts[self.dropped :]).lstrip("/"), divided[1]


def _lines(folder: Folder, path: str) -> Iterator[str]:
    lines = (one.values[0] for one in read_fields(folder, path, "\n") if not one.problem)
    return (line for line in lines if not line.startswith("#"))


def divide(line: str, shape: Shape, separator: str | None) -> tuple[str, str] | None:
    """Return a line's path and label; None if it has no label where the shape has one."""
    if shape == "path":
        return line, ""
    parts = line.split(separator, 1) if shape == "first" else line.rsplit(separator, 1)
    path, label = (part.strip() for part in parts) if len(parts) > 1 else (line, "")
    if shape == "front":
        path, label = label, path
    return (path, label) if path and label else None


def find_lists(folder: Folder, excluded: str | None = None) -> list[ListFile]:
    """Return the files of a folder that are lists of images below it, judging by the first lines.

    If the names of some are those of splits, the others do not count.
    """
    found = (path for path in candidates(folder, excluded, _ENDINGS) if not _is_of_classes(folder, path))
    lists = find_forms(folder, [*islice(found, MAX_FILES)], ImageNames(folder, excluded))
    return [one for one in lists if one.split] or lists


def _is_of_classes(folder: Folder, path: str) -> bool:
    """Return whether a file has the names of the classes; labels.txt may also have names and classes of images."""
    first = next(read_fields(folder, path), None) if is_names_file(posixpath.basename(path)) else None
    return first is not None and not any(map(is_image, first.values))


def find_forms(folder: Folder, paths: Sequence[str], names: ImageNames, *, is_file: bool = False) -> list[ListFile]:
    """Return the files that are lists of images, and how they are read: with labels, unless a name says a split.

    A file that the user gives (`is_file`) counts whatever it says.
    """
    samples = {path: list(islice(_lines(folder, path), _SAMPLE)) for path in paths}
    names.look_for(
        divided[0]
        for sample in samples.values()
        for shape, separator in _shapes(sample)
        for line in _spread(sample)
        if (divided := divide(line, shape, separator))
    )
    found = []
    for path, sample in samples.items():
        needs_endings = not is_file and split_of_file(path) is None
        form = _find_form(folder, path, sample, names, needs_endings=needs_endings)
        if form and (is_file or ((form.has_labels or not needs_endings) and not _is_other(form))):
            found.append(form)
    return found


def _is_other(form: ListFile) -> bool:
    """Return whether a file is a table with a header, or says something else than classes."""
    return unusual_labels(form) is not None or any(one.has_header for one in open_list_files(form.folder, form.path))


def _find_form(
    folder: Folder, path: str, sample: Sequence[str], names: ImageNames, *, needs_endings: bool
) -> ListFile | None:
    # Paths without endings come last: the label 1 may be the name of 1.jpg.
    for by_stem in [False] if needs_endings else [False, True]:
        for shape, separator in _shapes(sample):
            texts = [pair[0] for line in sample if (pair := divide(line, shape, separator))]
            texts = [one for one in texts if is_image(one) != by_stem]
            if 2 * len(texts) <= len(sample) or (by_stem and shape == "front"):
                continue
            some = _spread(texts)
            found = {text: one for text in some if (one := names.find(text, by_stem=by_stem))}
            nums = {text: _num_dropped(text, one, parent_of(path)) for text, one in found.items()}
            found = {text: one for text, one in found.items() if nums[text] >= 0}
            dropped = {nums[text] for text in found}
            if not found or 2 * len(found) < len(some) or len(dropped) != 1:
                continue
            base = ""
            if any(len(one.paths) > 1 for one in found.values()):
                base = _base(found, split_of_file(path))
                if not base:
                    return None  # several images are called so
            num = dropped.pop()
            is_exact = not num and all(one.paths == [written_path(text)] for text, one in found.items())
            form = ListFile(folder, path, shape, separator, base, num, is_exact or bool(base))
            return replace(form, repeats_folders=_repeats_folders(form, sample, names))
    return None


def _repeats_folders(form: ListFile, sample: Sequence[str], names: ImageNames) -> bool:
    pairs = [pair for line in sample if form.has_labels and (pair := divide(line, form.shape, form.separator))]
    found = {(label, parent_of(one.paths[0])) for path, label in pairs if (one := names.find(path))}
    folders = {place for _, place in found}
    return len(folders) > 1 and len(found) == len(folders) == len({label for label, _ in found})


def _num_dropped(text: str, found: Found, near: str) -> int:
    """Return how many leading folders of a text are of another computer; -1 if it means another image.

    What is left of horse/1.jpg is no image of cat/.
    """
    path = written_path(text)
    num = path.strip("/").count("/") + 1 - found.num_parts
    places = {"/".join(one.split("/")[: -found.num_parts]) for one in found.paths}
    return num + path.startswith("/") if num and places <= {"", near} else -bool(num)


def _base(found: Mapping[str, Found], split: str | None) -> str:
    """Return the folder whose name means the split of a list, and that has all of its images; '' for none."""
    places = [
        {path.removesuffix(end) for path in one.paths if path.endswith(end := f"/{written_path(text)}")}
        for text, one in found.items()
    ]
    of_split = [one for one in set.intersection(*places) if split and split_of_file(f"{one}/") == split]
    return of_split[0] if len(of_split) == 1 else ""


def _shapes(sample: Sequence[str]) -> Iterator[tuple[Shape, str | None]]:
    yield "path", None
    separators = [one for one in _SEPARATORS if one is None or all(one in line for line in sample)]
    for separator in separators:
        yield "last", separator
        yield "first", separator
    for separator in separators:
        yield "front", separator


def _spread(texts: Sequence[str]) -> list[str]:
    step = max(1, len(texts) // _LOOKED_UP)
    return list(dict.fromkeys(texts[::step]))[:_LOOKED_UP]


def unusual_labels(form: ListFile) -> str | None:
    """Return what the labels of a list are if they are not classes, as a phrase; None if they may be classes."""
    sample = [label for _, label in islice(form.pairs(), _SAMPLE)] if form.has_labels else []
    if sample and all(map(is_image, sample)):
        return "names of images; if these are masks, give their folder as SOURCE"
    if sample and 2 * sum(map(_is_several_fields, sample)) > len(sample):
        return f"several fields on a line, such as {printable(sample[0][:60])!r}"
    if any(_FRACTION.fullmatch(one) and float(one) % 1 for one in sample):
        return "numbers with fractions"
    if form.shape == "front" and len({*sample}) == len(sample) > 2:
        return "numbers of the images"
    return None


def _is_several_fields(label: str) -> bool:
    """Return whether a label is more than one field: ``10,20,30,40,0`` or ``3 144 998 cat``, not ``Cessna 172``."""
    fields = _BETWEEN_FIELDS.split(label)
    return len([one for one in fields if _NUMBER.fullmatch(one)]) > 1 or _SEVERAL.search(label) is not None


def label_part(forms: Sequence[ListFile]) -> int | None:
    """Return which part of the paths is the class in lists without labels: the first in which they differ.

    Lists are sorted by class, and a short one may have a single class: so every line of all lists counts. None if the
    images lie in one folder, or in folders of first letters, as SUN397's ``a/abbey/``.
    """
    common: list[str] | None = None
    for form in forms:
        for path, _ in form.pairs():
            parts = posixpath.dirname(path).split("/")
            common = parts if common is None else common_parts(common, parts)
    part = len([one for one in common or [] if one])
    paths = [path.split("/") for form in forms for path, _ in islice(form.pairs(), _SAMPLE)]
    has_letters = all(len(one) > part + 1 and one[part].lower() == one[part + 1][:1].lower() for one in paths)
    return part if any(len(one) > part + 1 for one in paths) and not has_letters else None
