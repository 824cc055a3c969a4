"""Find the folder that the image paths of a label file start at.

Label files name images as their tool saw them: relative to the file or to a folder next to it, without an ending, or
with the absolute path or URL of another machine. The first paths decide how all paths of the file are read.
"""

import posixpath
from collections.abc import Sequence

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.engine.paths import PathRule, path_parts
from shardkit.sources.engine.splits import split_of_path, split_tokens
from shardkit.sources.listing import BadRecord, below
from shardkit.sources.walking import ending, file_or_folder, folders_in, join, parent_of, stem_of
from shardkit.storage import Folder

_TRIED_PATHS = 8  # paths that are looked up, because the first image may be missing
_MAX_FOLDERS = 64  # folders next to a label file that are searched
_IMAGE_FOLDERS = ("images", "JPEGImages", "imgs", "img", "data")
_INSTANCES = "instances_"
_USUAL_ENDINGS = (".jpg", ".png", ".jpeg", ".JPG", ".PNG", ".JPEG")  # tried for names without one


def find_paths(
    texts: Sequence[str], places: Sequence[tuple[Folder, str]], called: str = ""
) -> tuple[Folder, PathRule] | None:
    """Return how most of the first paths of a label file lead to files, and the folder that keys start at.

    None if none does. The places are those that the paths may start at, the most likely first: each the folder that
    keys start at, and a path below it. Of folders with images of the same names it is the one that is `called` like the
    label file.
    """
    texts = [text for text in texts if text.strip()][:_TRIED_PATHS]
    for added in ("", *_USUAL_ENDINGS):
        for text in texts:
            if added and ending(text) in IMAGE_ENDINGS:
                continue
            # The whole path first, in every place; then without its first folders.
            for num_dropped in range(len(path_parts(text))):
                rules = [(folder, PathRule(place, num_dropped, added)) for folder, place in places]
                if found := _leading_most([rule for rule in rules if _leads_to_a_file(*rule, text)], texts, called):
                    return found
    return None


def _leading_most(
    rules: Sequence[tuple[Folder, PathRule]], texts: Sequence[str], called: str
) -> tuple[Folder, PathRule] | None:
    """Return the rule that leads most paths to files, the first of equal ones; None if others are as good by chance."""
    nums = [sum(_leads_to_a_file(*rule, text) for text in texts) for rule in rules] if len(rules) > 1 else [1]
    best = [rule for rule, num in zip(rules, nums, strict=False) if num == max(nums)]
    best.sort(key=lambda rule: posixpath.basename(rule[1].place) != called)
    name = posixpath.basename(best[0][1].place) if best else ""
    is_usual = name in {"", called, *_IMAGE_FOLDERS} or bool(split_tokens(name))
    return best[0] if len(best) == 1 or (best and is_usual) else None


def _leads_to_a_file(folder: Folder, paths: PathRule, text: str) -> bool:
    try:
        found = file_or_folder(folder, paths.key(text))
    except BadRecord:
        return False
    return found is not None and not found.is_folder


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
    near, split = [], split_of_path(path)
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


def places_below(folder: Folder, tree: Folder, path: str) -> list[str]:
    """Return the places below a folder, which keys start at, of the images of a label file below SOURCE.

    Beside SOURCE only folders of usual names are searched, if the folder is around it.
    """
    if folder.url == tree.url:
        return nearby_places(folder, path)
    inside = below(folder, tree.url)
    return nearby_places(folder, path, is_root=True) if inside == tree.url else places_of(path, inside)
