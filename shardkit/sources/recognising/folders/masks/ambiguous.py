"""Refuse images and masks that can be read in two ways.

1st_manual/, 2nd_manual/          two folders hold masks of the same images
images/, overlay/, masks/         two folders of images have their masks in one
image/fabric/, mask/fabric/       the folders in them may be the classes of the images
"""

import itertools
import posixpath
import re

from shardkit.naming import printable
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.mask_pixels import have_several_values
from shardkit.sources.recognising.folders.first_images import listed
from shardkit.sources.recognising.folders.masks.numbered_parts import are_codes
from shardkit.sources.recognising.folders.masks.pairs import rivals
from shardkit.sources.recognising.folders.masks.part import Part
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.walking import folders_in

_ORDER = re.compile(r"[0-9]+|(?<![a-z])[ab](?![a-z])")  # what tells A from B and T1 from T2
_TIMES = ({"before", "after"}, {"pre", "post"})


def refuse_rivals(opening: Opening, found: tuple[Part, ...]) -> None:
    """Refuse images of which two folders hold masks, such as 1st_manual/ and mask/."""
    place = SourcePlace(opening.url, in_archive=opening.is_in_archive, ignored=opening.options.ignore)
    for part, other in itertools.combinations(found, 2):
        if part.masks is not None and (part.masks, part.mask_suffix) == (other.masks, other.mask_suffix):
            both = f"{printable(part.images)}/ and {printable(other.images)}/"
            problem = f"{opening.url}: {both} have their masks in one folder, {printable(part.masks)}/"
            names = [posixpath.basename(one.images) for one in (part, other)]
            if _are_times(names):
                raise RefusalError(problem, remedy="make one image of both, or give a folder with one of them only")
            changes = [
                place.whole({"layout": "masks", "ignore": (f"{left_out}/",)}, f"only the images in {kept}/")
                for kept, left_out in (names, names[::-1])
            ]
            raise RefusalError(problem, changes)
    for part in found:
        if others := rivals(opening.folder, part):
            globs = [one.glob for one in (part, *others)]
            both = "both hold" if len(others) == 1 else "hold"
            shown = " and ".join(map(printable, globs))
            problem = f"{opening.url}: {shown} {both} masks of the images in {printable(part.images)}/"
            changes = [
                place.whole(
                    {"layout": "masks", "ignore": tuple(one for one in globs if one != kept)}, f"only those in {kept}"
                )
                for kept in sorted(globs)  # 1st_manual/ before 2nd_manual/ and mask/
            ]
            raise RefusalError(problem, changes)


def _are_times(names: list[str]) -> bool:
    """Return whether two folders show the same place at two times: A and B, T1 and T2, before and after."""
    rests = {_ORDER.sub("", name.lower()) for name in names}
    return len(rests) == 1 or {*map(str.lower, names)} in _TIMES


def refuse_classes(opening: Opening, found: tuple[Part, ...]) -> None:
    """Refuse masks of two classes in folders that may be the classes of the images: image/fabric/ and mask/fabric/."""
    for part in found:
        inner = folders_in(opening.folder, part.images)
        if part.masks is None or part.with_splits or part.is_one_folder or len(inner) < 2:
            continue
        if inner != folders_in(opening.folder, part.masks) or are_codes(inner):
            continue
        if have_several_values(opening.folder, part.masks_of(opening.folder)):
            continue
        place = SourcePlace(opening.url, in_archive=opening.is_in_archive, ignored=opening.options.ignore)
        problem = (
            f"{opening.url}: {printable(part.images)}/ and {printable(part.masks)}/ have the folders {listed(inner)}"
        )
        changes = [
            place.whole({"layout": "masks"}, "images with their masks, without classes of images"),
            place.whole({"ignore": (part.glob,)}, f"{listed(inner)} are classes, without the masks"),
        ]
        raise RefusalError(f"{problem}, which may be classes", changes)
