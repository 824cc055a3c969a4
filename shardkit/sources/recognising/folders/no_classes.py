"""Recognise folders whose names cannot be those of classes: dates, ranges of numbers, a camera's folders, drawings."""

import itertools
import posixpath
import re
from collections import Counter
from collections.abc import Sequence

from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.mask_pixels import are_masks, images_below
from shardkit.sources.recognising.folders.class_folders import label_folders
from shardkit.sources.recognising.folders.first_images import NUM_SAMPLED, has_images, listed
from shardkit.sources.recognising.folders.masks.matching import SAYS_MASKS
from shardkit.sources.recognising.folders.paired_folders import are_paired, look_alike
from shardkit.sources.recognising.folders.source_place import FORCED, SourcePlace
from shardkit.sources.recognising.folders.split_folders import (
    mix_splits,
    number_of_word,
    numbered_end,
    says_nothing,
    splits_of,
)
from shardkit.sources.walking import join
from shardkit.storage import Folder

# Cameras' folders: DCF 2.0, 3.2.3, such as 100APPLE.
_CAMERA_FOLDER = re.compile(r"[1-9][0-9]{2}[A-Z0-9_]{5}")
# Years, months and days.
_DATE = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?:[-_.]?[01][0-9](?:[-_.]?[0-3][0-9])?)?(?![0-9])")
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
_NUM_NAMES = 50  # images of a folder whose names are compared
_RANGE_STEP = 100  # folders 00000/, 01000/, 02000/ divide images by their numbers


def refuse_no_classes(folder: Folder, names: list[str], place: SourcePlace) -> str:
    """Refuse folders whose names or images say that they are no classes.

    Return why folders of images are no classes, where the images' names may say more; '' if they may be classes.
    """
    unlabelled = place.whole({"unlabelled": True}, "images without labels")
    if mix_splits(names):
        problem = (
            f"{place.shown}: folder names contain a split and another word ({listed(names)}), so the class is unclear"
        )
        raise RefusalError(problem, [place.tree(FORCED, "each folder is a class")])
    what = parts_of_data(names)
    are_silent = len(names) > 1 and all(map(says_nothing, names))
    if (what or are_silent) and all(has_images(folder, name) for name in names):
        return f"{listed(names)} {what or 'have names that say nothing about the images in them'}"
    if what and not are_numbered(names):  # folders in numbered ones may be classes, or splits
        raise RefusalError(f"{place.shown}: {listed(names)} {what}", [unlabelled])
    if are_paired(folder, names):
        problem = (
            f"{place.shown}: {listed(names)} hold images of the same names that show the same, so they are no classes"
        )
        remedy = (
            "an example has one image; convert each folder into a dataset of its own with "
            f"{named('unlabelled')}, whose keys are the same"
        )
        raise RefusalError(problem, remedy=remedy)
    if drawings := _drawings(folder, names):
        problem = (
            f"{place.shown}: {listed(drawings)} {'holds' if len(drawings) == 1 else 'hold'} drawings of few colours, "
            "as masks are, and no layout of masks matches the names of the images next to them"
        )
        meaning = f"images without labels, without {listed(drawings)}"
        without = place.tree({"unlabelled": True}, meaning, without=tuple(drawings))
        remedy = "merge the drawings of an image into one mask of class numbers with the image's name"
        raise RefusalError(problem, [without], remedy=remedy)
    return ""


def are_parts_of_classes(folder: Folder, names: Sequence[str], excluded: str | None) -> bool:
    """Return whether folders are dates or numbered parts, and the same folders of images are in several of them."""
    are_parts = len(names) > 1 and (are_dates(names) or are_numbered(names))
    if not are_parts or any(has_images(folder, name) for name in names):
        return False
    inner = {name: label_folders(folder, name, excluded) for name in names}
    counts = Counter(name for below in inner.values() for name in below)
    # 2019/01/ is a month.
    repeated = [name for name, count in counts.items() if count > 1 and not says_nothing(name) and not name.isdecimal()]
    are_odd = bool(splits_of([*counts])) or bool(parts_of_data([*counts]))
    return (
        all(inner.values())
        and len(repeated) > 1
        and not are_odd
        and not _are_views(folder, [join(names[0], name) for name in inner[names[0]]])
        and all(has_images(folder, join(day, name)) for day, below in inner.items() for name in below)
    )


def _are_views(folder: Folder, paths: Sequence[str]) -> bool:
    """Return whether two folders are views of one thing: T1/ and T2/ of a patient, left/ and right/ of a camera.

    All of their images have the same names; those of days may, too, if a program counts from 1, but do not look alike.
    """
    found = [
        {
            posixpath.splitext(one[len(path) :])[0]: one
            for one in itertools.islice(images_below(folder, path), _NUM_NAMES)
        }
        for path in paths[:2]
    ]
    common = sorted(found[0].keys() & found[1].keys())[:NUM_SAMPLED] if len(found) > 1 else []
    if len(common) > 1 and found[0].keys() == found[1].keys() and not are_dates([path.split("/")[0] for path in paths]):
        return True
    return len(common) > 1 and all(look_alike(folder, found[0][name], found[1][name]) for name in common)


def parts_of_data(names: Sequence[str]) -> str:
    """Return why folders are parts of data and no classes, as the end of a sentence; '' if they may be classes."""
    if are_dates(names):
        return "look like camera folders or dates, not like classes"
    if are_ranges(names):
        return "look like ranges of numbers, not like classes"
    if are_numbered(names):
        return "are numbered parts of the data, not classes"
    return ""


def refuse_parts_of_data(names: list[str], place: SourcePlace) -> None:
    """Refuse the folders of a split that are called by dates or by numbers of parts."""
    if what := parts_of_data(names):
        unlabelled = place.whole({"unlabelled": True}, "images without labels")
        forced = [place.tree(FORCED, "each folder is a class")] if are_numbered(names) else []
        raise RefusalError(f"{place.shown}: {listed(names)} {what}", [unlabelled, *forced])


def are_numbered(names: Sequence[str]) -> bool:
    """Return whether folders are called by one word for parts of data, and numbers: ``Plate1`` or ``PlateA``."""
    found = {number_of_word(_LETTER.sub("0", name)) for name in names}
    return len(names) > 1 and found <= _PARTS and len(found) == 1


def are_lettered(names: Sequence[str]) -> bool:
    """Return whether folders are called by one word that says nothing, and letters: ``sample_a``, ``sample_b``.

    Numbers in place of letters are no proof: the classes of Chars74K are ``Sample001`` to ``Sample062``.
    """
    found = {number_of_word(_LETTER.sub("0", name)) if _LETTER.search(name) else None for name in names}
    return len(names) > 1 and len(found) == 1 and all(word and says_nothing(word) for word in found)


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


def classes_in_names(names: Sequence[str]) -> dict[str, str]:
    """Return the class by name of folders that are called by a class and a part of the data, or a date; {} for others.

    ``ok_batch1``, ``ok_batch2``, ``crack_batch1``; ``2024-03-05 good``, ``2024-03-05 bad``, ``2024-03-06 good``
    """
    ends = {name: end for name in names if (end := numbered_end(name)) and end[1] in _PARTS}
    dated = {name: _DATE.sub("", name, count=1).strip(" _-.") for name in names if _DATE.search(name)}
    found = {name: rest for name, (rest, _) in ends.items()} if len(ends) == len(names) else dated
    counts = Counter(found.values())
    is_whole = len(found) == len(names) and len(counts) > 1 and all(counts)
    return found if is_whole and max(counts.values(), default=0) > 1 else {}


def _drawings(folder: Folder, names: list[str]) -> list[str]:
    """Return the folders that are masks by their names and their images, next to a folder of photographs.

    Next to photos/ or the like, which is no class either, any folder of drawings is one of masks.
    """
    are_named = not any(map(says_nothing, names))
    said = [name for name in names if SAYS_MASKS.search(name) or not (are_named or says_nothing(name))][:NUM_SAMPLED]
    others = [name for name in names if name not in said][:NUM_SAMPLED]
    found = [name for name in said if are_masks(folder, images_below(folder, name))]
    return found if found and any(not are_masks(folder, images_below(folder, name)) for name in others) else []
