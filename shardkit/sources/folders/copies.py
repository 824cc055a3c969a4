"""Folders that repeat what is next to them: an archive unpacked into itself, or "cat - Copy" next to cat."""

import itertools
import posixpath
import re
from collections.abc import Sequence

from shardkit.naming import printable
from shardkit.refusals import RefusalError
from shardkit.sources.folders.first_images import listed
from shardkit.sources.folders.masks.by_content import images_below
from shardkit.sources.folders.paired_folders import show_the_same
from shardkit.sources.folders.source_place import FORCED, SourcePlace
from shardkit.sources.listing import is_ignored
from shardkit.sources.walking import children, is_folder, join
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
        *("backup", "compressed", "copy", "cropped", "crops", "downscaled", "gray", "grayscale", "grey", "greyscale"),
        *("lowres", "mini", "preview", "previews", "resize", "resized", "scaled", "small", "thumb", "thumbnail"),
        *("thumbnails", "thumbs", "tiny"),
    }
)
_PARTS = re.compile(r"[\W_]+")
_NUM_NAMES = 50  # images of a folder whose names are compared
_MAX_ENDS = 50  # words that are compared by what their images show


def copies_among(folder: Folder, names: list[str]) -> dict[str, str]:
    """Return the folders that may be copies, and what of: the path of a folder, '' for the one around them.

    Args:
        folder: The folder that they are in.
        names: The names of all folders in it.
    """
    found = {name: of for name in names if (of := original_of(name)) and of in names}
    if len(names) <= _MAX_PROBED:
        found |= {name: "" for name in names if _repeats_siblings(folder, name, names)}
    return found


def original_of(name: str) -> str | None:
    """Return the name of which a name is that of a copy, such as ``pets`` of ``pets (1)``; None if it is not one."""
    found = _COPY.fullmatch(name)
    return found["of"] if found else None


def is_same_tree(folder: Folder, copy: str, original: str) -> bool:
    """Return whether a folder has no file that another one lacks; files are compared by path and size.

    Args:
        folder: The folder that both are in.
        copy: Path of the copy.
        original: Path of the other folder; '' for `folder` itself.
    """
    pairs = [(copy, original)]
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
    return True


def refuse_variants(folder: Folder, above: str, names: Sequence[str], place: SourcePlace) -> None:
    """Refuse folders of thumbnails and the like next to those of the images.

    Args:
        folder: Root of the tree.
        above: Path of the folder that they are in.
        names: The names of all folders in it.
        place: The tree's place in the source.

    Raises:
        RefusalError: There are some; the changes leave them out.
    """
    if found := _variants_among(folder, above, names):
        variants = [join(above, name) for name in found]
        be, copies = ("is", "another version") if len(found) == 1 else ("are", "other versions")
        name, of = next(iter(found.items()))
        problem = (
            f"{place.shown}: {listed(variants)} {be} named like {copies} of folders next to them: the images of "
            f"{printable(name)}/ have the names of those of {printable(of)}/"
        )
        without = place.without(variants, f"without {listed(variants)}")
        raise RefusalError(problem, [without, place.tree(FORCED, "each folder is a class")])


def _variants_among(folder: Folder, above: str, names: Sequence[str]) -> dict[str, str]:
    """Return the folders with other versions of the images of another one, by name, with the other one's name.

    Their names differ by a word, their images have the same names. If the word does not say what they are, it must
    be that of several folders, and the images must show the same.

    Args:
        folder: Root of the tree.
        above: Path of the folder that they are in.
        names: The names of all folders in it.
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
        return [one.name for one in children(folder, name)] == others and is_same_tree(folder, name, "")
    return len(others) > 1 and all(is_folder(folder, join(name, other)) for other in others)
