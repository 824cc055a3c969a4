"""Recognise folders whose names are not those of classes: dates, ranges of numbers, a camera's folders, copies."""

import re
from collections.abc import Sequence

from shardkit.sources.engine.splits import split_of_word
from shardkit.sources.recognising.folders.split_folders import number_of_word

# Cameras' folders: DCF 2.0, 3.2.3, such as 100APPLE.
_CAMERA_FOLDER = re.compile(r"[1-9][0-9]{2}[A-Z0-9_]{5}")
# Years, months and days; days, months and years.
_DATE = re.compile(
    r"(?<![0-9])(?:(?:19|20)[0-9]{2}(?:[-_.]?[01][0-9](?:[-_.]?[0-3][0-9])?)?"
    r"|[0-3]?[0-9]([-_.])[0-3]?[0-9]\1(?:19|20)?[0-9]{2})(?![0-9])"
)
# What data is divided by: ``Plate1``, ``patient_007``; ``class1``, ``type_2`` and ``s1`` may be classes.
_PARTS = frozenset(
    {
        *("batch", "cam", "camera", "case", "chunk", "clip", "day", "donor", "fold", "fov", "page", "part", "patient"),
        *("month", "plate", "recording", "roll", "run", "scan", "scene", "seq", "sequence", "session", "set", "shard"),
        *(
            "site",
            "station",
            "slide",
            "sub",
            "subj",
            "subject",
            "trial",
            "user",
            "vid",
            "video",
            "visit",
            "volume",
            "week",
            "well",
        ),
    }
)
_LETTER = re.compile(r"(?<=[a-z])[A-Z]\Z|(?<=[ _-])[A-Za-z]\Z")  # in place of a number: PlateA, plate_b
_BETWEEN = re.compile(r"[ _.-]+")
_RANGE_STEP = 100  # folders 00000/, 01000/, 02000/ divide images by their numbers
# Windows, macOS, Linux and browsers: "cat - Copy (2)", "cat copy 2", "cat (copy)", "cat (1)".
_COPIED = (
    "(?:copy|copie|copia|c\u00f3pia|kopie|kopia|k\u00f3pia|kopija|kopi|kopya|kopio|m\u00e1solat|копия|копія|副本|コピー|"
    "복사본)"
)
_COPY = re.compile(
    rf"(?P<of>.+?)(?: - {_COPIED}(?: \([0-9]+\))?| {_COPIED}(?: [0-9]+)?| \((?:copy|[0-9]+)\))",
    re.IGNORECASE,
)


def parts_of_data(names: Sequence[str]) -> str:
    """Return why folders are parts of data and no classes, as the end of a sentence; '' if they may be classes."""
    if are_dates(names):
        return "look like camera folders or dates, not like classes"
    if are_ranges(names):
        return "look like ranges of numbers, not like classes"
    if are_numbered(names):
        return "are numbered parts of the data, not classes"
    return ""


def are_numbered(names: Sequence[str]) -> bool:
    """Return whether folders are called by one word for parts of data, and numbers: ``Plate1`` or ``PlateA``."""
    found = {number_of_word(_LETTER.sub("0", name)) for name in names}
    return len(names) > 1 and found <= _PARTS and len(found) == 1


def are_dates(names: Sequence[str]) -> bool:
    """Return whether names are those of a camera's folders, or dates with the same words: ``Photos from 2019``."""
    if not names or all(map(_CAMERA_FOLDER.fullmatch, names)):
        return bool(names)
    rests = {_DATE.sub("", name, count=1) for name in names}
    return len(rests) == 1 and all(map(_DATE.search, names)) and (len(names) > 1 or rests == {""})


def are_ranges(names: Sequence[str]) -> bool:
    """Return whether folders are called by the number of their first image: ``00000``, ``01000``, ``02000``."""
    are_padded = len({len(name) for name in names}) == 1 and any(name.startswith("0") for name in names)
    return len(names) > 1 and are_padded and all(name.isdecimal() and int(name) % _RANGE_STEP == 0 for name in names)


def copies_by_name(names: Sequence[str]) -> dict[str, str]:
    """Return the folders that are called like copies of others next to them, and the names of these."""
    there = set(names)
    return {name: of for name in names if (of := original_of(name)) and of in there}


def original_of(name: str) -> str | None:
    """Return the name of which a name is that of a copy, such as ``pets`` of ``pets (1)``; None if it is not one."""
    found = _COPY.fullmatch(name)
    return found["of"] if found else None


def without_parts(name: str) -> str:
    """Return a folder's name without dates, numbers, numbered parts and words for splits: ``ok`` of ``ok_batch1``."""
    words = [word for word in _BETWEEN.split(_DATE.sub("", name)) if word and not word.isdecimal()]
    parts = [word for word in words if number_of_word(word) in _PARTS or split_of_word(word.lower())]
    return "_".join(word for word in words if word not in parts)
