"""Folders that repeat what is next to them: an archive unpacked into itself, or "cat - Copy" next to cat."""

import itertools
import posixpath
import re
from collections.abc import Sequence

from shardkit.naming import printable
from shardkit.refusals import RefusalError
from shardkit.sources.file_names import is_ignored
from shardkit.sources.mask_pixels import images_below
from shardkit.sources.recognising.folders.class_folders import label_folders
from shardkit.sources.recognising.folders.first_images import listed
from shardkit.sources.recognising.folders.masks.matching import common_end
from shardkit.sources.recognising.folders.paired_folders import look_alike, show_the_same
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.walking import children, is_folder, is_image, join
from shardkit.storage import Folder

_MAX_PROBED = 300  # folders that are asked for a copy of the tree
_NUM_SAMPLED = 3  # names of its siblings that a copy is asked for
# Windows, macOS, Linux and browsers: "cat - Copy (2)", "cat copy 2", "cat (copy)", "cat (1)".
_COPY = re.compile(
    r"(?P<of>.+?)(?: - (?:copy|kopie|copie|copia)(?: \([0-9]+\))?| (?:copy|kopie)(?: [0-9]+)?| \((?:copy|[0-9]+)\))",
    re.IGNORECASE,
)
# What is made of pictures for another use, next to them: google_images_download's "cat - thumbnail".
_MADE_OF = frozenset(
    {
        *(
            "aug",
            "augment",
            "augmentation",
            "augmented",
            "backup",
            "compressed",
            "old",
            "copy",
            "cropped",
            "crops",
            "downscaled",
            "enhanced",
            "gray",
            "grayscale",
            "grey",
        ),
        *("greyscale", "lowres", "masked", "mini", "normalised", "normalized", "preprocessed", "preview", "previews"),
        *("processed", "resize", "resized", "scaled", "segmented", "small", "thumb", "thumbnail", "thumbnails"),
        *("thumbs", "tiny"),
    }
)
_PARTS = re.compile(r"[\W_]+")
_MAX_TREES = 8  # folders of which each is compared with all others
_MAX_BYTES = 1 << 20  # 1 MiB of a file that are compared
_NUM_NAMES = 50  # images of a folder whose names are compared
_MAX_COMPARED = 200  # images of a folder whose paths are compared
_MIN_SHARE = 0.9  # of them that are in both
_MAX_ENDS = 50  # words that are compared by what their images show


def copies_among(folder: Folder, names: list[str]) -> dict[str, str]:
    """Return the folders that may be copies, and what of: the path of a folder, '' for the one around them."""
    found = copies_by_name(names)
    if len(names) <= _MAX_PROBED:
        found |= {name: "" for name in names if _repeats_siblings(folder, name, names)}
    return found


def copies_by_name(names: Sequence[str]) -> dict[str, str]:
    """Return the folders that are called like copies of others next to them, and the names of these."""
    there = set(names)
    return {name: of for name in names if (of := original_of(name)) and of in there}


def repeated_trees(folder: Folder, names: Sequence[str], excluded: str | None) -> list[str]:
    """Return the folders that have all files of another one with the same classes: pets_backup/ next to pets/."""
    if not 1 < len(names) <= _MAX_TREES:
        return []
    inner = {name: label_folders(folder, _only_inside(folder, name, excluded), excluded) for name in names}
    found: list[str] = []
    for one, other in itertools.combinations(sorted(names, key=len), 2):
        is_same = one not in found and len(inner[one]) > 1 and inner[one] == inner[other]
        if is_same and is_same_tree(folder, one, other) and is_same_tree(folder, other, one):
            found.append(other)
    return found


def _only_inside(folder: Folder, path: str, excluded: str | None) -> str:
    """Return the folder that is alone in a folder, or the folder itself."""
    inner = label_folders(folder, path, excluded)
    return join(path, inner[0]) if len(inner) == 1 else path


def original_of(name: str) -> str | None:
    """Return the name of which a name is that of a copy, such as ``pets`` of ``pets (1)``; None if it is not one."""
    found = _COPY.fullmatch(name)
    return found["of"] if found else None


def is_same_tree(folder: Folder, copy: str, original: str) -> bool:
    """Return whether a folder has no file that another one lacks.

    Files are compared by path and size, and the first few by their contents: all BMPs of a camera have one size.
    """
    pairs = [(copy, original)]
    num_read = 0
    while pairs:
        here, there = pairs.pop()
        others = {entry.name: entry for entry in children(folder, there)}
        for entry in children(folder, here):
            if is_ignored(entry.name):
                continue
            other = others.get(entry.name)
            if other is None or other.is_folder != entry.is_folder:
                return False
            if entry.is_folder:
                pairs.append((join(here, entry.name), join(there, entry.name)))
            elif entry.num_bytes != other.num_bytes:
                return False
            elif num_read < _NUM_SAMPLED and is_image(entry.name):
                num_read += 1
                if len({folder.read_at_most(join(at, entry.name), _MAX_BYTES) for at in (here, there)}) > 1:
                    return False
    return True


def refuse_variants(folder: Folder, above: str, names: Sequence[str], place: SourcePlace) -> None:
    """Refuse folders of thumbnails and the like next to those of the images."""
    if found := _variants_among(folder, above, names):
        variants = [join(above, name) for name in found]
        be, copies = ("is", "another version") if len(found) == 1 else ("are", "other versions")
        name, of = next(iter(found.items()))
        problem = (
            f"{place.shown}: {listed(variants)} {be} named like {copies} of folders next to them: the images of "
            f"{printable(name)}/ have the names of those of {printable(of)}/"
        )
        without = place.without(variants, f"without {listed(variants)}")
        raise RefusalError(problem, [without])


def refuse_versions(folder: Folder, tops: Sequence[str], place: SourcePlace) -> None:
    """Refuse folders with the same classes and the same images in another version, such as color/ and grayscale/.

    The paths in them are the same but for a common end of the names, and the images show the same or the name of one
    folder says what it is made of.
    """
    ordered = sorted(tops, key=is_made)
    first, *others = ordered
    versions = [name for name in others if _is_version(folder, name, first)]
    if not versions:
        return
    names = [first, *versions]
    problem = (
        f"{place.shown}: {listed(names)} hold images of the same names, so they may be versions of the same images"
    )
    changes = place.inside(names, "only these images")
    if place.in_archive:
        changes = [
            place.without([other for other in names if other != name], f"only the images in {printable(name)}/")
            for name in names
        ]
    raise RefusalError(problem, changes)


def are_versions(folder: Folder, tops: Sequence[str]) -> bool:
    """Return whether one of some folders holds the images of another in another format: PNG/1.png and TIF/1.tif."""
    return any(_is_version(folder, *pair, by_ending=True) for pair in itertools.combinations(dict.fromkeys(tops), 2))


def is_made(name: str) -> bool:
    """Return whether a folder is called like what is made of pictures, such as ``resized`` or ``thumbnails``."""
    return not _MADE_OF.isdisjoint(filter(None, _PARTS.split(name.lower())))


def _is_version(folder: Folder, one: str, other: str, *, by_ending: bool = False) -> bool:
    here, there = (_by_name(folder, name) for name in (one, other))
    common = sorted(here.keys() & there.keys())
    if len(common) < _NUM_SAMPLED or len(common) < _MIN_SHARE * min(len(here), len(there)):
        return False
    if by_ending and all(posixpath.splitext(here[name])[1] != posixpath.splitext(there[name])[1] for name in common):
        return True
    return is_made(one) or all(look_alike(folder, here[name], there[name]) for name in common[:_NUM_SAMPLED])


def _by_name(folder: Folder, top: str) -> dict[str, str]:
    """Return the first images below a folder by their paths in it, without ending and without the end of all names."""
    paths = list(itertools.islice(images_below(folder, top), _MAX_COMPARED))
    stems = [posixpath.splitext(path[len(top) + 1 :])[0] for path in paths]
    end = common_end(stems)
    return {stem.removesuffix(end): path for stem, path in zip(stems, paths, strict=True)}


def _variants_among(folder: Folder, above: str, names: Sequence[str]) -> dict[str, str]:
    """Return the folders with other versions of the images of another one, by name, with the other one's name.

    Their names differ by a word, their images have the same names. If the word does not say what they are, it must
    be that of several folders, and the images must show the same.
    """
    by_words = {tuple(filter(None, _PARTS.split(name.lower()))): name for name in names}
    pairs: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for words, name in by_words.items():
        for i in range(1, len(words)):
            for rest, added in ((words[:i], words[i:]), (words[i:], words[:i])):
                if (of := by_words.get(rest)) is not None:
                    pairs.setdefault(added, []).append((name, of))
    several = [added for added, found in pairs.items() if len(found) > 1 and not {*added} <= _MADE_OF][:_MAX_ENDS]
    said = [added for added in pairs if {*added} <= _MADE_OF]
    found: dict[str, str] = {}
    for added in (*said, *several):
        first = [(join(above, name), join(above, of)) for name, of in pairs[added][:_NUM_SAMPLED]]
        if all(_are_of_same_names(folder, *one, looking=added in several) for one in first):
            found |= dict(pairs[added])
    return found


def _are_of_same_names(folder: Folder, variant: str, original: str, *, looking: bool) -> bool:
    """Return whether all images of a folder have namesakes in another one; and show the same, if wanted."""
    here, there = (
        {posixpath.splitext(path[len(above) :])[0]: path for path in images_below(folder, above)}
        for above in (variant, original)
    )
    common = sorted(itertools.islice(here, _NUM_NAMES))
    if not common or not there.keys() >= set(common):
        return False
    return not looking or all(show_the_same(folder, here[name], there[name]) for name in common[:_NUM_SAMPLED])


def _repeats_siblings(folder: Folder, name: str, names: list[str]) -> bool:
    """Return whether a folder has folders with its siblings' names: an archive was unpacked into itself."""
    # Of the first few names only: all names for each of 20,000 classes would take minutes.
    others = [other for other in names[: _NUM_SAMPLED + 1] if other != name][:_NUM_SAMPLED]
    if len(others) == 1:  # dataset/DATASET/ next to DATASET/; a folder of cats in pets/ proves nothing
        inner = [one.name for one in children(folder, name) if one.is_folder]
        return inner == others and is_same_tree(folder, name, "")
    return len(others) > 1 and all(is_folder(folder, join(name, other)) for other in others)
