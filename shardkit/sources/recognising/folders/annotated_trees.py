"""Refuse a tree that looks like annotated images, with the command that reads masks.

`annotated_data_check` says what looks like annotations.
"""

import posixpath

from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError, UnrecognisedError
from shardkit.sources.recognising.folders.annotated_data_check import adjacent_masks, find_annotated_data
from shardkit.sources.recognising.folders.class_folders import innermost, label_folders
from shardkit.sources.recognising.folders.first_images import NUM_SAMPLED, has_images, image_names, listed
from shardkit.sources.recognising.folders.masks.instances import refuse_instances
from shardkit.sources.recognising.folders.masks.matching import pairs_in, pairs_in_one_folder
from shardkit.sources.recognising.folders.masks.pairs import find_pairs
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.walking import join
from shardkit.storage import Folder

_DEPTH_OF_MASKS = 1  # levels below a label folder that are searched for masks among images


def refuse_annotated(
    folder: Folder, names: list[str], splits: dict[str, str], excluded: str | None, place: SourcePlace
) -> None:
    """Refuse a tree that looks like annotated images."""
    # In GTSRB, Final_Training/Images/ has the classes.
    inside = {
        name: label_folders(folder, innermost(folder, name, excluded, of_split=True), excluded) for name in splits
    }
    below = [
        (name, inner if len(inner) > 1 else label_folders(folder, name, excluded)) for name, inner in inside.items()
    ]
    # Test images without labels may be in test/images/.
    labels = [(name, inner) for name, inner in below if splits[name] != "test" or len(inner) > 1]
    if not splits and len(names) == 1:
        return  # the only folder, such as images/, is no class
    refuse_instances(folder, names, place)
    if sign := find_annotated_data(folder, [*labels, ("", names)]):
        problem = (
            f"{place.shown}: this looks like annotated images (found {sign.what}), but no layout matches, such as COCO "
            "(annotations/*.json), Pascal VOC (Annotations/*.xml next to JPEGImages/), YOLO (images/ next to labels/ "
            "and classes.txt) or masks (masks/ next to images/)"
        )
        remedy = "arrange the files like one of the layouts in `shardkit help layouts`"
        if sign.holds_labels:  # no command leaves labels out, but the user may know that there are none
            hiding = named("ignore", tuple(f"/{join(place.above, path)}/" for path in sign.folders))
            remedy += f", or hide {listed(sign.folders)} with {hiding} if it holds no labels"
        raise UnrecognisedError(problem, readings_of_masks(folder, place), remedy=remedy)
    for path in [join(name, inner[0]) for name, inner in labels if inner] or names[:NUM_SAMPLED]:
        found = adjacent_masks(image_names(folder, path))
        for part in () if found else pairs_in_one_folder(folder, path, _DEPTH_OF_MASKS):
            found = posixpath.basename(next(part.masks_of(folder))), part.glob
        if found:
            problem = (
                f"{place.shown}: {printable(found[0])} in {printable(path)}/ is a mask of the image next to it by its "
                "name, and would be an image of a class"
            )
            without = place.whole({"ignore": (found[1],)}, "each folder is a class, without the masks")
            raise RefusalError(problem, [*readings_of_masks(folder, place), without])
        # Folders of images with the same names, of which one has masks by its pixels, whatever they are called.
        for part in () if has_images(folder, path) else pairs_in(folder, path, None, by_names=False):
            problem = (
                f"{place.shown}: {printable(part.masks or '')}/ holds drawings of few colours with the names of the "
                f"images in {printable(part.images)}/, as masks are"
            )
            raise RefusalError(problem, readings_of_masks(folder, place))


def readings_of_masks(folder: Folder, place: SourcePlace) -> list[Change]:
    """Return the change that reads images with their masks, if there are any."""
    if not any(part.masks is not None for part in find_pairs(folder, is_explicit=True)):
        return []
    return [place.tree({"layout": "masks"}, "images with their masks, without classes of images")]
