"""Recognise folders whose names cannot be those of classes: dates, ranges of numbers, a camera's folders, drawings."""

import re
from collections.abc import Sequence

from shardkit.refusals import RefusalError
from shardkit.sources.folders.first_images import NUM_SAMPLED, has_images, listed
from shardkit.sources.folders.masks.by_content import are_masks, images_below
from shardkit.sources.folders.masks.matching import SAYS_MASKS
from shardkit.sources.folders.paired_folders import are_paired
from shardkit.sources.folders.source_place import FORCED, SourcePlace
from shardkit.sources.folders.split_folders import mix_splits, says_nothing
from shardkit.storage import Folder

# Cameras' folders: DCF 2.0, 3.2.3, such as 100APPLE.
_CAMERA_FOLDER = re.compile(r"[1-9][0-9]{2}[A-Z0-9_]{5}")
# Years, months and days.
_DATE = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?:[-_.]?[01][0-9](?:[-_.]?[0-3][0-9])?)?(?![0-9])")
_RANGE_STEP = 100  # folders 00000/, 01000/, 02000/ divide images by their numbers


def refuse_no_classes(folder: Folder, names: list[str], place: SourcePlace) -> str:
    """Refuse folders whose names or images say that they are no classes.

    Args:
        folder: The folder that they are in.
        names: The names of all folders in it.
        place: The folder's place in the source.

    Returns:
        Why folders of images are no classes, where the images' names may say more; '' if they may be classes.

    Raises:
        RefusalError: They are none; the changes are other readings.
    """
    forced = place.tree(FORCED, "each folder is a class")
    unlabelled = place.whole({"unlabelled": True}, "images without labels")
    if mix_splits(names):
        problem = (
            f"{place.shown}: folder names contain a split and another word ({listed(names)}), so the class is unclear"
        )
        raise RefusalError(problem, [forced])
    what = ""
    if are_dates(names):
        what = "look like camera folders or dates, not like classes"
    elif are_ranges(names):
        what = "look like ranges of numbers, not like classes"
    elif len(names) > 1 and all(map(says_nothing, names)) and all(has_images(folder, name) for name in names):
        what = "have names that say nothing about the images in them"
    if what and all(has_images(folder, name) for name in names):
        return f"{listed(names)} {what}"
    if what:
        raise RefusalError(f"{place.shown}: {listed(names)} {what}", [unlabelled, forced])
    if are_paired(folder, names):
        problem = (
            f"{place.shown}: {listed(names)} hold images of the same names that show the same, so they are no classes"
        )
        raise RefusalError(problem, [*place.inside(names, "only these images"), forced])
    if drawings := _drawings(folder, names):
        problem = (
            f"{place.shown}: {listed(drawings)} {'holds' if len(drawings) == 1 else 'hold'} drawings of few colours, "
            "as masks are, and no layout of masks matches the names of the images next to them"
        )
        meaning = f"images without labels, without {listed(drawings)}"
        without = place.tree({"unlabelled": True}, meaning, without=tuple(drawings))
        remedy = "merge the drawings of an image into one mask of class numbers with the image's name"
        raise RefusalError(problem, [without, forced], remedy=remedy)
    return ""


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


def _drawings(folder: Folder, names: list[str]) -> list[str]:
    """Return the folders that are masks by their names and their images, next to a folder of photographs."""
    said = [name for name in names if SAYS_MASKS.search(name)][:NUM_SAMPLED]
    others = [name for name in names if name not in said][:NUM_SAMPLED]
    found = [name for name in said if are_masks(folder, images_below(folder, name))]
    return found if found and any(not are_masks(folder, images_below(folder, name)) for name in others) else []
