"""Find the folder that the image paths of a label file start at.

Label files name images as their tool saw them: relative to the file or to a folder next to it, without an ending, or
with the absolute path or URL of another machine. The first paths decide how all paths of the file are read.
"""

import posixpath
import re
from collections.abc import Sequence

from shardkit.naming import IMAGE_ENDINGS, split_of_folder
from shardkit.sources.engine.paths import MAX_PATH, PathRule, path_parts
from shardkit.sources.listing import BadRecord
from shardkit.sources.name_index import NameIndex
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import ending, file_or_folder, folders_in, join, parent_of, stem_of
from shardkit.storage import Folder, open_folder

_TRIED_PATHS = 8  # paths that are looked up, because the first image may be missing
_MAX_FOLDERS = 64  # folders next to a label file that are searched
_IMAGE_FOLDERS = ("images", "JPEGImages", "imgs", "img", "data")
_INSTANCES = "instances_"
_USUAL_ENDINGS = (".jpg", ".png", ".jpeg", ".JPG", ".PNG", ".JPEG")  # tried for names without one


def find_paths(texts: Sequence[str], places: Sequence[tuple[Folder, str]]) -> tuple[Folder, PathRule] | None:
    """Return how most of the first paths of a label file lead to files, and the folder that keys start at.

    None if none does. The places are those that the paths may start at, the most likely first: each the folder that
    keys start at, and a path below it.
    """
    texts = [text for text in texts if text.strip()][:_TRIED_PATHS]
    for added in ("", *_USUAL_ENDINGS):
        for text in texts:
            if added and ending(text) in IMAGE_ENDINGS:
                continue
            # The whole path first, in every place; then without its first folders.
            for num_dropped in range(len(path_parts(text))):
                rules = [(folder, PathRule(place, num_dropped, added)) for folder, place in places]
                if found := _leading_most([rule for rule in rules if _leads_to_a_file(*rule, text)], texts):
                    return found
    return None


def _leading_most(rules: Sequence[tuple[Folder, PathRule]], texts: Sequence[str]) -> tuple[Folder, PathRule] | None:
    """Return the rule that leads most paths to files, the first of equal ones; None if others are as good by chance."""
    nums = [sum(_leads_to_a_file(*rule, text) for text in texts) for rule in rules] if len(rules) > 1 else [1]
    best = [rule for rule, num in zip(rules, nums, strict=False) if num == max(nums)]
    name = posixpath.basename(best[0][1].place) if best else ""
    is_usual = not name or name in _IMAGE_FOLDERS or bool(split_tokens(name))
    return best[0] if len(best) == 1 or (best and is_usual) else None


def paths_by_names(index: NameIndex, texts: Sequence[str]) -> PathRule | None:
    """Return how paths lead to images by their names alone; None if the first ones do not."""
    keys = {text: keys[0] for text in texts if len(keys := index.find_all(text)) == 1}
    places = set(map(parent_of, keys.values()))
    if 2 * len(keys) < len(set(texts)) or not places:
        return None
    are_exact = all(posixpath.basename(key) == path_parts(text)[-1] for text, key in keys.items())
    return PathRule(places.pop(), MAX_PATH) if len(places) == 1 and are_exact else PathRule("", by_name=True)


def _leads_to_a_file(folder: Folder, paths: PathRule, text: str) -> bool:
    try:
        found = file_or_folder(folder, paths.key(text))
    except BadRecord:
        return False
    return found is not None and not found.is_folder


def split_tokens(name: str) -> list[tuple[str, str]]:
    """Return the parts of a file or folder name that mean a split, each with that split: (train2017, train)."""
    found = []
    for token in re.split(r"[^A-Za-z0-9]+", name):
        split = split_of_folder(token.rstrip("0123456789"))
        if split:
            found.append((token, split))
    return found


def split_of(path: str) -> str | None:
    """Return the split in a file's name, else in its folder's name, else that a folder above is called by."""
    for name in (stem_of(path), posixpath.basename(parent_of(path))):
        if tokens := split_tokens(name):
            return tokens[0][1]
    return next((split for name in reversed(path.split("/")[:-2]) if (split := split_of_folder(name))), None)


def places_of(path: str, prefix: str = "", *, is_root: bool = False) -> list[str]:
    """Return the folders where the images of a label file may be, the most likely first.

    `prefix` is the path of the folder that label files start at below that of the images. With `is_root`, the user gave
    the latter.
    """
    stem = stem_of(path)
    own = "" if is_root else join(prefix, parent_of(path))
    above = parent_of(own)
    tokens = [token for token, _ in split_tokens(stem) or split_tokens(posixpath.basename(parent_of(path)))]
    tokens += [token.rstrip("0123456789") for token in tokens if token[-1].isdigit()]
    if stem.startswith(_INSTANCES):
        tokens.append(stem.removeprefix(_INSTANCES))  # CVAT: instances_<subset>.json with images/<subset>/
    places = [own]
    for base in dict.fromkeys((above, own)):
        places += [join(base, *way) for token in tokens for way in ((token,), ("images", token))]
        places += [join(base, "images"), join(base, "data")]
    places += ["", *(join(base, stem) for base in dict.fromkeys((above, own)))]
    return list(dict.fromkeys(places))


def nearby_places(folder: Folder, path: str, *, is_root: bool = False) -> list[str]:
    """Return the folders of `places_of`, and all folders next to the label file and one level higher.

    Folders next to the one that the places are below are not searched: they may hold images of the same names that
    belong to another dataset.
    """
    usual = places_of(path, is_root=is_root)
    near, split = [], split_of(path)
    for base in dict.fromkeys((usual[0], parent_of(usual[0]))):
        names = [
            name
            for name in folders_in(folder, base)
            if split in {None, *(one for _, one in split_tokens(name))} or not split_tokens(name)
        ]
        names.sort(key=lambda name: name not in _IMAGE_FOLDERS)
        near += [join(base, name) for name in names[:_MAX_FOLDERS]]
        # Open Images by FiftyOne: <split>/data next to <split>/labels; others: images/<split>.
        splits = [name for name in names if name in _IMAGE_FOLDERS or split_tokens(name)]
        near += [join(base, name, inner) for name in splits for inner in _IMAGE_FOLDERS]
    return list(dict.fromkeys([*usual, *near]))


def image_places(folder: Folder, path: str, options: SourceOptions, *, may_leave: bool) -> list[tuple[Folder, str]]:
    """Return where the images of a label file may be, for `find_paths`, the most likely first.

    With `may_leave`, images may be in the folder above, because SOURCE is the file.
    """
    if options.root is not None:
        root = open_folder(options.root)
        return [(root, place) for place in nearby_places(root, path, is_root=True)]
    places = [(folder, place) for place in nearby_places(folder, path)]
    above = posixpath.dirname(folder.url)
    if may_leave and above and above[-1] not in "/:":
        outside = open_folder(above)
        places += [(outside, place) for place in places_of(path, posixpath.basename(folder.url))]
    return places
