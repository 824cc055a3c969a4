r"""Find the part of file names that names a recording, a patient, a day or a scene.

The images of one recording are nearly the same, so dividing them at random lets a model be evaluated on what it was
trained on. The form of most names is found in a sample; a part of it, from the start to a number, is taken for a group
if the names after it go on counting:

    rec07_000123.jpg        (rec[0-9]+)_        R07_x0128_y0256.png     (R[0-9]+)_
    2024-05-06_0012.jpg     (2024-05-06)_       00000013_005.png        ([0-9]+)_

Not a group is what only repeats the class (n02085620_1234.jpg in n02085620/), a counter (IMG_0001.jpg), a time
(20240131_121530.jpg), a year, or a part that is different in each name.
"""

import collections
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.rows import LazyColumn
from shardkit.conversion.planning.splits.grouping import group_codes
from shardkit.hashing import COLUMN_BLOCK
from shardkit.naming import split_of_folder

_Ints = npt.NDArray[np.int64]
_SAMPLED = 64, 128  # runs of names, and names in each: names that follow each other may be of one group
_MIN_SHARE = 0.5  # of the names have the form
_MIN_IMAGES = 2  # of a group, on average
_MIN_TOTAL = 30  # images: among few, parts of names repeat by chance
_MIN_WORDS = 5  # groups that are named by letters only: fewer of them are usually kinds of images
_MAX_STEP = 1000  # between the numbers of a group that is named by a number only: otherwise they do not count
_WORD = r"[^/0-9_. -]+"
_DATE = r"(?:19|20)[0-9]{2}(?P<sep>[-_.]?)(?:0[1-9]|1[0-2])(?P=sep)(?:0[1-9]|[12][0-9]|3[01])(?![0-9])"
_TIME = r"[-_T ]?[0-2][0-9][-_.]?[0-5][0-9][-_.]?[0-5][0-9](?:[0-9]{3})?(?![0-9])"
_TOKEN = re.compile(
    rf"(?P<date>{_DATE}(?P<time>{_TIME})?)|(?P<number>[0-9]+)"
    r"|(?P<word>[^\W\d_]+)|(?P<sign>.)",
    re.DOTALL,
)
_YEAR = re.compile(r"(?:19[5-9]|20[0-4])[0-9]")
_DIGIT = re.compile("[0-9]")
_LAST_NUMBER = re.compile(r"[0-9]+(?=[^0-9]*$)")
_FOLDER = r"([^/]+)/[^/]*$"
_AUGMENTED = r"([^/]+)\.rf\.[0-9a-f]{32}[^/]*$"  # Roboflow's copies of an image
# Words for parts of one recording, which may be the only one.
_FRAMES = re.compile(r"frames?|frm|slice", re.IGNORECASE)
_RECORDINGS = re.compile(r"frames?|frm|slice|rec|recording|video|vid|clip|seq|sequence|session|flight", re.IGNORECASE)
_EDGES = re.compile(r"^.*/|\.[^./]*$")
# Words that are no name of a recording: cameras, tools and kinds of images; and the coordinates of a tile.
_KINDS = re.compile(r"(?:img|image|dsc|dscn|pxl|photo|pic|picture|frame|aug|augmented|copy|orig|mask)s?", re.IGNORECASE)
_COORDINATES = re.compile(r"[^a-z0-9]?(?:[xy]|row|col|tile|patch)[_-]?|[^a-z0-9][rc]", re.IGNORECASE)
_Shape = tuple["_Token", ...]


class _Token(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class NameGroups:
    """Groups that file names show."""

    pattern: str  # a regular expression of keys, whose first group names the group
    codes: _Ints  # int64[n], the group of each name, numbered from 0; -1 without one
    example: str

    @property
    def num_groups(self) -> int:
        return int(self.codes.max(initial=-1)) + 1

    @property
    def are_folders(self) -> bool:
        """Whether the groups are folders, in which names begin to count anew."""
        return self.pattern == _FOLDER

    def groups(self, keys: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the group of each key, as text; null without one."""
        return _searched(keys, self.pattern)


def find_name_groups(keys: pa.ChunkedArray | LazyColumn, labels: npt.NDArray[np.int32]) -> NameGroups | None:
    """Return the groups that the names of files show; None if they show none.

    Keys are sorted; `labels`, int32[n], are equal for images without classes.
    """
    if len(keys) < _MIN_TOTAL:
        return None
    rows = _sampled_rows(len(keys))
    sample = keys.take(pa.array(rows) if isinstance(keys, pa.ChunkedArray) else rows).to_pylist()
    for pattern, word in _patterns(sample):
        search = re.compile(pattern).search
        found = [(match[1], key) for key in sample if (match := search(key))]
        names = {name for name, _ in found}
        # The sample rules out nearly all, before all names are searched.
        if not names or len(names) * _MIN_IMAGES > len(found) or not _may_be_groups(names, found):
            continue
        if pattern == _FOLDER and len(names) <= len(np.unique(labels[rows])):
            continue
        if len(names) == 1 and not _RECORDINGS.fullmatch(word):
            continue
        codes = group_codes(_searched(keys, pattern))
        if not codes.max(initial=0) and not _names_repeat(keys):  # all images are of one recording
            return NameGroups(pattern, codes, found[0][0])
        has_number = 2 * sum(_DIGIT.search(name) is not None for name in names) > len(names)
        if _are_groups(codes, labels, has_number=has_number) and (pattern != _FOLDER or _names_repeat(keys)):
            return NameGroups(pattern, codes, found[0][0])
    return None


def _sampled_rows(num_rows: int) -> _Ints:
    num_runs, length = _SAMPLED
    if num_rows <= num_runs * length:
        return np.arange(num_rows)
    starts = np.linspace(0, num_rows - length, num_runs).astype(np.int64)
    return (starts[:, None] + np.arange(length)).ravel()


def _patterns(sample: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield regular expressions of what may be groups, the shortest parts of a name first, with the word in each."""
    yield _AUGMENTED, ""
    tokens = [_tokens(key) for key in sample]
    for is_general in (False, True):
        (shape, count), *_ = collections.Counter(_shape(one, is_general=is_general) for one in tokens).most_common(1)
        counting = [at for at, token in enumerate(shape) if token.kind in {"number", "date"}]
        if count < _MIN_SHARE * len(sample):
            continue
        for cut in range(counting[-1] if counting else 0):
            kind, word = shape[cut].kind, next((one.text for one in shape[cut::-1] if one.kind == "word"), "")
            before, after = "".join(token.text for token in shape[max(0, cut - 2) : cut]), shape[cut + 1 :]
            is_frame = _FRAMES.fullmatch(word) and len(after) == 1 + (after[0].kind == "sign")
            counts_frames = kind == "number" and _FRAMES.fullmatch(word) and word in before
            if counts_frames or (kind == "word" and not (is_general or is_frame)):
                continue
            # The part of a run of letters and digits, which may be a hash, is no name.
            if kind != "sign" and (after[0].kind == "sign" or is_frame) and not _COORDINATES.fullmatch(before):
                end = re.escape(after[0].text) if after[0].kind == "sign" else ""
                yield f"({''.join(map(_expression, shape[: cut + 1]))}){end}[^/]*$", word
    yield _FOLDER, ""


def _tokens(key: str) -> _Shape:
    """Return the parts of a file's name without its ending."""
    return tuple(_Token(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(_EDGES.sub("", key)))


def _shape(tokens: _Shape, *, is_general: bool) -> _Shape:
    """Return the parts of a name without what differs from name to name: numbers, and words of a general shape."""
    dropped = {"number", "word"} if is_general else {"number"}
    return tuple(_Token(kind, "" if kind in dropped else _DIGIT.sub("0", text)) for kind, text in tokens)


def _expression(token: _Token) -> str:
    if token.kind == "date":
        return re.sub("0+", lambda zeros: f"[0-9]{{{len(zeros[0])}}}", token.text)
    return "[0-9]+" if token.kind == "number" else re.escape(token.text) or _WORD


def _may_be_groups(names: Collection[str], found: Sequence[tuple[str, str]]) -> bool:
    """Return whether the names of groups in a sample, with the keys that they were found in, may be names of groups."""
    if all(map(_YEAR.fullmatch, names)) or all(split_of_folder(name.rstrip("0123456789")) for name in names):
        return False
    if len(names) > 1 and any(map(_KINDS.fullmatch, names)):
        return False
    if any(char.isalpha() for name in names for char in name):
        return True
    numbers = [(name, _LAST_NUMBER.search(_EDGES.sub("", key))) for name, key in found]
    counted = [(name, int(match[0])) for name, match in numbers if match]
    steps = [abs(one[1] - other[1]) for one, other in itertools.pairwise(counted) if one[0] == other[0]]
    return bool(steps) and sorted(steps)[len(steps) // 2] <= _MAX_STEP


def _searched(keys: pa.ChunkedArray | LazyColumn, pattern: str) -> pa.ChunkedArray:
    """Return the first group of a regular expression of `find_name_groups` in every key; null without one."""
    named = re.sub(r"\(", "(?P<group>", pattern, count=1)
    blocks = (keys.slice(start, COLUMN_BLOCK) for start in range(0, len(keys), COLUMN_BLOCK))
    found = [pc.struct_field(pc.extract_regex(block, named), "group").cast(pa.string()) for block in blocks]
    return pa.chunked_array([chunk for one in found for chunk in one.chunks], pa.string())


def _are_groups(codes: _Ints, labels: npt.NDArray[np.int32], *, has_number: bool) -> bool:
    """Return whether parts of names are groups, and not the names of classes, of kinds of images, or of single ones."""
    rows = np.flatnonzero(codes >= 0)
    num_groups = int(codes.max(initial=-1)) + 1
    if num_groups < 2 or len(rows) < max(_MIN_SHARE * len(codes), _MIN_IMAGES * num_groups):
        return False
    num_labels = int(labels.max()) + 2  # with NO_LABEL
    groups, classes = np.divmod(np.unique(codes[rows] * num_labels + labels[rows] + 1), num_labels)
    groups_of_class = np.bincount(classes)
    groups_of_class = groups_of_class[groups_of_class > 0]
    if len(groups_of_class) == 1:
        return has_number
    num_with_several = np.count_nonzero(np.bincount(codes[rows]) > 1)
    if 2 * np.count_nonzero(np.bincount(groups) > 1) >= num_with_several:  # they cut across classes
        return has_number or num_groups >= _MIN_WORDS
    return has_number and 2 * np.count_nonzero(groups_of_class > 1) >= len(groups_of_class)


def _names_repeat(keys: pa.ChunkedArray | LazyColumn) -> bool:
    """Return whether files in different folders have the same names, as recordings do that each begin to count anew."""
    blocks = (keys.slice(start, COLUMN_BLOCK) for start in range(0, len(keys), COLUMN_BLOCK))
    names = pa.chunked_array([chunk for one in blocks for chunk in pc.replace_substring_regex(one, "^.*/", "").chunks])
    num_names: int = pc.count_distinct(names).as_py()
    return num_names * _MIN_IMAGES <= len(names)
