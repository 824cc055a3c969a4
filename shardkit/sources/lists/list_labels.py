"""What the labels of list files are: classes, other values, or the names of the images' folders."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from itertools import islice

from shardkit.naming import printable
from shardkit.sources.lists.list_files import ListFile
from shardkit.sources.walking import is_image

_SAMPLE = 200  # lines that are looked at
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")
_BETWEEN_FIELDS = re.compile(r"[\s,;]+")
_SEVERAL = re.compile(r"\t|\S[,;]\S")
_FRACTION = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")


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
        if common is None:
            common = parts
        elif parts[: len(common)] != common:
            same = (a == b for a, b in zip(common, parts, strict=False))
            common = common[: next((i for i, equal in enumerate(same) if not equal), min(len(common), len(parts)))]
    return None if common is None else len([part for part in common if part])
