"""Find the file next to the folders that says what the pixels of masks mean."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from shardkit.errors import DataError
from shardkit.images.masks import BLACK_AND_WHITE
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.sources.formats.class_names import ADE, Palette, read_palette
from shardkit.sources.mask_pixels import NUM_SAMPLED, are_black_and_white, are_coloured, greatest_number
from shardkit.sources.readings.values import NUMBERS, TWO_COLOURS
from shardkit.sources.recognising.folders.masks.pairs import Part
from shardkit.sources.walking import children, is_image, join, parent_of
from shardkit.storage import Folder

# Files of the masks' colours.
_COLOUR_FILES = ("label_colors.txt", "class_dict.csv", "class_dict_seg.csv", "labelmap.txt", "classes.json")
# The usual names of files that name classes, such as fast.ai's codes.txt and Roboflow's _classes.csv.
_NAMES = re.compile(r"(?:.*[_-])?(?:class|label|categor|code|name)[^/]*\.(?:txt|csv|json)", re.IGNORECASE)
_MAX_CLASSES = 256


def find_palette(folder: Folder, parts: Sequence[Part]) -> tuple[str, str]:
    """Return what the pixels of a source's masks mean, see Paired; and a note."""
    there = {entry.name for entry in children(folder) if not entry.is_folder}
    for file in (name for name in (*_COLOUR_FILES, ADE) if name in there):
        if file.endswith((".json", ADE)):  # it may be about something else
            try:
                has_colours = bool(read_palette(folder, file).colours)
            except DataError:
                continue
            if not has_colours and file != ADE:
                continue  # names of numbers, see below
        return file, ""
    masks = list(itertools.islice(itertools.chain.from_iterable(part.masks_of(folder) for part in parts), NUM_SAMPLED))
    palette = TWO_COLOURS if are_black_and_white(folder, masks) else NUMBERS
    places = ["", *(place for part in parts for place in (parent_of(part.images), part.images, part.masks))]
    files = {path: found for path in _names_files(folder, places) if (found := _names_in(folder, path)) is not None}
    if not files:
        return palette, ""
    path, first = next(iter(files.items()))
    greatest = greatest_number(folder, masks, BLACK_AND_WHITE if palette == TWO_COLOURS else "")
    if first.colours and are_coloured(folder, masks) and all(found == first for found in files.values()):
        return path, ""
    why = _why_unused(folder, path, first, greatest, is_grey=palette == NUMBERS)
    if rival := next((other for other, found in files.items() if found.names != first.names), None):
        why = f"{printable(rival)} names others; correct one, or move it away"
    return (palette, f"; note: {printable(path)} names classes, and is not used: {why}") if why else (path, "")


def _names_files(folder: Folder, places: Iterable[str]) -> Iterator[str]:
    for place in dict.fromkeys(places):
        for entry in children(folder, place):
            if not entry.is_folder and _NAMES.fullmatch(entry.name):
                yield join(place, entry.name)


def _names_in(folder: Folder, path: str) -> Palette | None:
    """Return the classes that a file names; None if it is about something else."""
    try:
        found = read_palette(folder, path)
    except DataError:
        return None
    return found if 1 < len(found.names) <= _MAX_CLASSES and not any(map(is_image, found.names)) else None


def _why_unused(folder: Folder, path: str, found: Palette, greatest: int, *, is_grey: bool) -> str:
    """Return why a file of class names is not used, and what to do; '' if it is."""
    num = len(found.names)
    if found.colours:
        return f"it names colours, and the masks have numbers; `palette: {printable(path)}` in a reading reads them so"
    if found.is_counted and greatest >= num:
        what = f"it does not say which number each of its {num} names has, and the masks have numbers up to {greatest}"
        return f"{what}; write the number before each name"
    if greatest >= num:
        return f"it names the numbers up to {num - 1}, and the masks have {greatest}; correct it, or move it away"
    if found.is_counted:
        option = named("classes", f"{folder.url}/{path}")
        return f"its lines have no numbers; {option} takes them for classes 0 to {num - 1}"
    return (
        "" if is_grey else f"the masks are black and white; {named('classes')} FILE names their two classes, one a line"
    )
