"""Refuse a tree that looks like annotated images, with the commands that read masks, or folders as classes.

`annotated_data_check` says what looks like annotations.
"""

import posixpath
from collections.abc import Sequence

from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError, UnrecognisedError
from shardkit.sources.file_names import ending
from shardkit.sources.mask_pixels import are_masks, images_below
from shardkit.sources.recognising.folders.annotated_data_check import (
    adjacent_masks,
    find_annotated_data,
    says_annotations,
)
from shardkit.sources.recognising.folders.class_folders import label_folders
from shardkit.sources.recognising.folders.class_levels import innermost, trees_alone
from shardkit.sources.recognising.folders.copies import are_versions
from shardkit.sources.recognising.folders.first_images import NUM_SAMPLED, has_images, holds_image, listed
from shardkit.sources.recognising.folders.masks.instances import refuse_instances
from shardkit.sources.recognising.folders.masks.matching import pairs_in, pairs_in_one_folder
from shardkit.sources.recognising.folders.masks.pairs import find_pairs
from shardkit.sources.recognising.folders.source_place import FORCED, SourcePlace
from shardkit.sources.recognising.folders.split_folders import says_nothing, splits_of
from shardkit.sources.walking import children, join
from shardkit.storage import Folder

# End of the problem of annotated images, which `explaining` leaves out if a layout has read them.
NO_LAYOUT = (
    ", but no layout matches, such as COCO (annotations/*.json), Pascal VOC (Annotations/*.xml next to JPEGImages/), "
    "YOLO (images/ next to labels/ and classes.txt) or masks (masks/ next to images/)"
)
_DEPTH_OF_MASKS = 1  # levels below a label folder that are searched for masks among images


def refuse_annotated(
    folder: Folder, names: list[str], splits: dict[str, str], excluded: str | None, place: SourcePlace
) -> None:
    """Refuse a tree that looks like annotated images."""
    below = [(name, label_folders(folder, name, excluded)) for name in splits]
    # In GTSRB, Final_Training/Images/ has the classes.
    inside = {
        name: label_folders(folder, innermost(folder, name, excluded, of_split=True), excluded) for name in splits
    }
    below = [(name, inside[name] if len(inside[name]) > 1 else inner) for name, inner in below]
    # Test images without labels may be in test/images/.
    labels = [(name, inner) for name, inner in below if splits[name] != "test" or len(inner) > 1]
    if not splits and len(names) == 1:
        return  # the only folder, such as images/, is no class
    refuse_instances(folder, names, place)
    if sign := find_annotated_data(folder, [*labels, ("", names)]):
        problem = f"{place.shown}: this looks like annotated images (found {sign.what}){NO_LAYOUT}"
        remedy = "arrange the files like one of the layouts in `shardkit help layouts`"
        paths = [join(name, one) for name, inner in below for one in inner] or names
        masks = [path for path in sign.folders if are_masks(folder, images_below(folder, path))]
        if masks and len(masks) < len(names):
            rest = [name for name in names if name not in masks]
            meaning = f"each folder is a class, without the masks in {listed(masks)}"
            without = place.whole({"ignore": _globs(masks, place)}, meaning)
            alone = _datasets_alone(folder, names, place)
            changes = [*alone, *readings_of_masks(folder, [] if alone else paths, place)]
            are_silent = len(rest) > 1 and all(map(says_nothing, rest))
            others = [name for name in rest if name not in splits and are_masks(folder, images_below(folder, name))]
            changes += [] if alone or are_silent or others else [without]
            raise UnrecognisedError(problem, _different(changes), remedy=remedy)
        # images/images/cat/ next to resized/
        is_inner = any("/" in one for one in sign.folders)
        alone = [] if splits or is_inner else trees_alone(folder, names[:NUM_SAMPLED], excluded, place)
        with_masks = readings_of_masks(folder, paths, place)
        by_folder = [] if sign.holds_labels or with_masks else alone or [place.tree(FORCED, "each folder is a class")]
        if sign.holds_labels:  # no command leaves labels out, but the user may know that there are none
            hiding = named("ignore", _globs(sign.folders, place))
            remedy += f", or hide {listed(sign.folders)} with {hiding} if it holds no labels"
        raise UnrecognisedError(problem, [*with_masks, *by_folder], remedy=remedy)
    for path in [join(name, inner[0]) for name, inner in labels if inner] or names[:NUM_SAMPLED]:
        found = adjacent_masks([one.name for one in children(folder, path) if ending(one.name) in IMAGE_ENDINGS])
        for part in () if found else pairs_in_one_folder(folder, path, _DEPTH_OF_MASKS):
            found = posixpath.basename(next(part.masks_of(folder))), part.glob
        if found:
            problem = (
                f"{place.shown}: {printable(found[0])} in {printable(path)}/ is a mask of the image next to it by its "
                "name, and would be an image of a class"
            )
            without = place.whole({"ignore": (found[1],)}, "each folder is a class, without the masks")
            with_masks = readings_of_masks(folder, [], place)
            raise RefusalError(problem, [*with_masks, without])
        if not has_images(folder, path):
            _refuse_drawings(folder, path, place)


def _refuse_drawings(folder: Folder, path: str, place: SourcePlace) -> None:
    """Refuse folders of images with the same names of which one has masks by its pixels, whatever they are called."""
    for part in pairs_in(folder, path, None, by_names=False):
        problem = (
            f"{place.shown}: {printable(part.masks or '')}/ holds drawings of few colours with the names of the images "
            f"in {printable(part.images)}/, as masks are"
        )
        raise RefusalError(problem, readings_of_masks(folder, [], place))


def _datasets_alone(folder: Folder, names: Sequence[str], place: SourcePlace) -> list[Change]:
    """Return the changes that read one of some folders that hold splits and masks: MVTec AD has one for each object."""
    changes = []
    for top in names[:NUM_SAMPLED] if not place.in_archive else ():
        inner = label_folders(folder, top, None)
        masks = [name for name in inner if says_annotations(name, top)]
        splits = [name for name in inner if name not in masks]
        if masks and len(splits) > 1 and splits_of(splits).keys() == set(splits):
            meaning = f"only {printable(top)}/, with the splits {listed(splits)}, without {listed(masks)}"
            ignore = (*place.ignored, *(f"{name}/" for name in masks))
            changes.append(Change(meaning, {"ignore": ignore}, sources=(join(place.shown.rstrip("/"), top),)))
    return changes


def _different(changes: Sequence[Change]) -> list[Change]:
    """Return the changes without those that repeat the options and sources of an earlier one."""
    return list({repr((one.sources, one.options)): one for one in reversed(changes)}.values())[::-1]


def _globs(paths: Sequence[str], place: SourcePlace) -> tuple[str, ...]:
    """Return the globs that hide folders of a tree; those of one class or split hide them in all others, too."""
    inner = (f"{posixpath.basename(path)}/" if "/" in path else f"/{join(place.above, path)}/" for path in paths)
    return tuple(dict.fromkeys(inner))


def readings_of_masks(folder: Folder, paths: list[str], place: SourcePlace) -> list[Change]:
    """Return the changes that read images with their masks, or label folders without the masks in them."""
    changes: list[Change] = []
    pairs = [part for part in find_pairs(folder, is_explicit=True) if part.masks is not None]
    if pairs:
        tops = [part.images.split("/")[0] for part in pairs if part.split is None and not part.with_splits]
        if len(set(tops)) == len(pairs) > 1 and are_versions(folder, tops):  # PNG/ and TIF/
            changes += (
                one
                for top in tops
                for one in place.inside([top], f"only the images in {printable(top)}/ with their masks")
            )
        else:
            changes.append(place.tree({"layout": "masks"}, "images with their masks, without classes of images"))
    globs = []
    for path in paths[:NUM_SAMPLED]:
        above = posixpath.basename(path)
        inner = [name for name in label_folders(folder, path, None) if says_annotations(name, above)]
        names = [name for name in inner if holds_image(folder, join(path, name))]  # others may hold labels
        globs.append({f"*{name[len(above) :]}/" if name.startswith(above) else f"{name}/" for name in names})
    if hidden := sorted(set.intersection(*globs)) if globs else []:
        meaning = f"each folder is a class, without {' and '.join(hidden)}"
        changes.append(place.whole({"ignore": tuple(hidden)}, meaning))
    return changes
