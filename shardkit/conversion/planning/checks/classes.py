"""Check the names of the classes, and their numbers of images in each split.

Names can show that the source was misread. They are known from the listing, so such a source is refused before hours of
decoding. A user who chooses the reading (`is_explicit`) overrules the check.
"""

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import features_of
from shardkit.conversion.planning.checks.finding import Finding, Keys, some
from shardkit.conversion.planning.rows import Rows
from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.layouts import DATASET_LAYOUT, EXTRACTED_LAYOUT, layout_of_title
from shardkit.naming import counted, split_of_folder
from shardkit.options.call import Change
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named
from shardkit.sources.columns import LAST_CLASS
from shardkit.sources.recognising.folders.split_folders import is_left_behind

_WORDS = re.compile(r"[^\W\d_]+")
# Words for images that are predicted or held out, next to those for splits.
_LIKE_SPLITS = {"predict", "prediction", "predictions", "pred", "holdout", "unlabeled", "unlabelled", "submission"}
_FILLERS = {"data", "dataset", "folder", "image", "images", "img", "imgs", "part", "photos", "pics", "set", "split"}
# The start of a file's name that may be its label: letters before the first digit or separator.
_NAME_START = re.compile(r"([^\W\d_]{2,})[ ._-]*\d")
_CAMERA_WORDS = {"dsc", "dscn", "frame", "image", "images", "img", "mvimg", "photo", "pic", "picture", "pxl", "scan"}
_CERTAIN = (DATASET_LAYOUT, EXTRACTED_LAYOUT)  # whose classes were confirmed when the first source was converted
_BETWEEN_WORDS = re.compile(r"[\s_]+")
# Small letters of the Cyrillic and Greek alphabets that look like Latin ones.
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0458\u0455\u03bf\u03b1\u03bd\u03b9\u03ba\u03c1",
    "aeopcxyijsoavikp",
)


def find_wrong_reading(
    schema: pa.Schema, classes: Sequence[str], *, layout: str, splits: Sequence[str], example: str, is_explicit: bool
) -> Finding | None:
    """Return the finding that the classes cannot be right, or None.

    `schema` is that of the listing; `example` is the key of an image, or empty.
    """
    has_classes = classes and features_of(schema).get(LABEL) == CLASS_LABEL
    if is_explicit or not has_classes or layout in _CERTAIN:
        return None
    if all(map(names_split, classes)):
        return Finding(
            "classes_are_splits",
            "stops",
            f"all class names look like split names: {some(classes)}",
            remedy="give the folder that contains the class folders as SOURCE",
            changes=_other_readings("each of them is a class", layout, splits, example),
        )
    if len(classes) == 1:
        return Finding(
            "one_class",
            "stops",
            f"only one class was found: {classes[0]!r}; a classifier needs at least two",
            changes=_other_readings(f"{classes[0]!r} is the only class", layout, splits, example),
        )
    return None


def names_split(name: str) -> bool:
    """Return whether a name is a split's, such as ``Train_set``, ``test1`` or ``validation images``."""
    words = [word.lower() for word in _WORDS.findall(name)]
    found = [word in _LIKE_SPLITS or split_of_folder(word) is not None for word in words]
    return any(found) and all(ok or word in _FILLERS for ok, word in zip(found, words, strict=True))


def _other_readings(meaning: str, layout: str, splits: Sequence[str], example: str) -> tuple[Change, ...]:
    """Return the changes to other readings, and of this one for users who mean it."""
    folders, file_name = posixpath.split(example)
    changes = []
    if layout.endswith("class folders"):
        inner = folders.split("/")
        if not splits and len(inner) > 1:
            changes.append(Change(f"the folders in {inner[0]!r} are the classes", inside=inner[0]))
        start = _NAME_START.match(file_name)
        if start and start[1].lower() not in _CAMERA_WORDS:
            pattern = {"label_pattern": r"^([^\W\d_]+)"}
            changes.append(Change(f"the file's name has the label, such as {start[1]!r}", pattern))
    if layout.startswith("table"):
        changes.append(Change("another column has the labels", {"label_columns": ("NAME",)}))
    option = layout_of_title(layout)
    confirmed: dict[str, Any] = {"classes": "FILE"} if option is None else {"layout": option}
    return (*changes, Change(meaning, confirmed))


def unused_remedy() -> str:
    """Return what to do about classes without an image."""
    return (
        f"if images were expected, check their labels and the rejected images; otherwise convert with "
        f"{named('classes')} without these names, because a model has an output for each class"
    )


def check_names(classes: Sequence[str], *, is_explicit: bool) -> Iterator[Finding]:
    """Yield findings about names of classes that neither the user nor the source's format has listed."""
    alike: dict[str, list[str]] = {}
    for name in classes:
        alike.setdefault(_plain(name).translate(_LOOK_ALIKES), []).append(name)
    groups = [names for names in alike.values() if len(names) > 1]
    if groups:
        yield Finding(
            "similar_classes",
            "warns",
            f"{counted(sum(map(len, groups)), 'class')} differ only by case, blanks, underscores or Unicode form",
            tuple(" and ".join(map(_shown_of(names), names)) for names in groups),
            "if they mean the same, give their folders or labels one name",
        )
    if padded := [name for name in classes if name != name.strip()]:
        yield Finding(
            "class_with_blanks",
            "warns",
            f"{counted(len(padded), 'class')} named with a blank at an end: {some(padded)}",
            remedy="if the blanks are not meant, remove them from the folders or labels",
            names=padded,
        )
    if is_explicit:
        return
    for code, what, odd in (
        ("class_named_like_split", "splits", [name for name in classes if names_split(name)]),
        ("class_named_like_junk", "temporary or system folders", [name for name in classes if is_left_behind(name)]),
    ):
        if odd:
            names = "class name looks" if len(odd) == 1 else "class names look"
            yield Finding(
                code,
                "warns",
                f"{len(odd):,} {names} like {what}: {some(odd)}",
                remedy=f"leave them out with {named('ignore')} if they are not classes",
                names=odd,
            )


def _plain(name: str) -> str:
    return _BETWEEN_WORDS.sub("", unicodedata.normalize("NFKC", name).casefold())


def _shown_of(names: Sequence[str]) -> Callable[[str], str]:
    """Return the function that shows names, so that a reader sees how they differ."""
    return repr if len({*map(_plain, names)}) == 1 else ascii


def check_counts(
    classes: Sequence[str],
    splits: Sequence[str],
    counts: npt.NDArray[np.int64],
    options: ConvertOptions,
) -> Iterator[Finding]:
    """Yield findings about classes with few images or none in a split; `counts` is int64[num_splits, num_classes]."""
    if not classes:
        return
    totals = counts.sum(axis=0)
    unused = [classes[label] for label in np.flatnonzero(totals == 0).tolist()]
    if unused and totals.any():
        yield Finding(
            "class_without_image",
            "warns",
            f"{share_of_classes(len(unused), len(classes))} no good image: {some(unused)}",
            remedy=unused_remedy(),
            names=unused,
        )
    single = [classes[label] for label in np.flatnonzero(totals == 1).tolist()]
    if single:
        yield Finding(
            "class_with_one_image",
            "warns",
            f"{share_of_used(len(single), totals)} a single image: {some(single)}",
            remedy="every split needs at least one image of a class to train and evaluate it",
            names=single,
        )
    for name, of_split in zip(splits, counts, strict=True):
        absent = np.flatnonzero((of_split == 0) & (totals > 0)).tolist()
        if absent:
            what = f"{share_of_used(len(absent), totals)} no image in {name!r}"
            yield _absent(name, what, [classes[label] for label in absent], options)


def check_mask_classes(good: Rows, classes: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding about pixels of masks whose number is that of no class."""
    if not classes or LAST_CLASS.name not in good.column_names:
        return
    # If only headers were read, the column has no type.
    last = pc.fill_null(good[LAST_CLASS.name].cast(LAST_CLASS.type), -1).to_numpy()
    beyond = np.flatnonzero(last >= len(classes))
    if len(beyond):
        yield Finding(
            "mask_of_unknown_class",
            "warns",
            f"class numbers of {counted(len(beyond), 'mask')} go up to {last.max()}, but the last that has a name is "
            f"{len(classes) - 1}",
            Keys(good.lazy_column("key"), beyond),
            f"name all of them with {named('classes')}, or correct the masks: a model has no output for such a pixel",
        )


def _absent(split: str, what: str, absent: list[str], options: ConvertOptions) -> Finding:
    remedy, changes = "", tuple[Change, ...]()
    if options.splits.splits is None or split not in options.splits.splits:
        remedy = "the source's own split lacks them"
    elif options.splits.split_by == "stratified":
        remedy = "they have too few images or groups for the split's share: add some, or raise the share"
    else:
        changes = (Change("every class gets its share, within one image", {"split_by": "stratified"}),)
    sentence = f"{what}: {some(absent)}"
    return Finding("class_absent_from_split", "warns", sentence, names=absent, remedy=remedy, changes=changes)


def share_of_classes(number: int, total: int, of_what: str = "") -> str:
    """Return the beginning of a sentence: "1 of 3 classes has", "2 of 400 classes with images have"."""
    return f"{number:,} of {counted(total, 'class')}{of_what} {'has' if number == 1 else 'have'}"


def share_of_used(number: int, totals: npt.NDArray[np.int64]) -> str:
    """Return the same for classes with images, and name them so if others have none."""
    used = int((totals > 0).sum())
    return share_of_classes(number, used, "" if used == len(totals) else " with images")
