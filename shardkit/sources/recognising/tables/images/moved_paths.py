"""Find images whose paths were written on another machine, or refuse them with the prefix to replace."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from shardkit.options.words import named
from shardkit.sources.engine.prefixes import (
    PathPrefix,
    folder_parts,
    is_drive,
    parse_prefixes,
    replace_prefix,
    shared_folder,
)
from shardkit.sources.engine.table_paths import NumberedPath, absolute_form, root_of
from shardkit.sources.engine.table_refusals import Choice, refuse
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.name_index import NameIndex
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.tables.images.nearby import is_file, search_nearby
from shardkit.sources.walking import join
from shardkit.storage import STORES, Folder, open_folder

NUM_LOOKED_UP = 100  # images of the first records that are looked up; usually the first one exists
NUM_COUNTED = 20  # images that are looked up to find out whether a column names images at all
_MAX_TAILS = 12  # ends of a path that are looked up


def moved_here(table_folder: Folder, options: SourceOptions, first: Sequence[NumberedPath]) -> PathPrefix | None:
    """Return what to replace in paths of another machine, so that all of them lead to images below the table's folder.

    None if paths are relative, lead to images as they are, or the user says where the images are.
    """
    if options.root is not None or options.path_prefix:
        return None
    paths = [path for _, path in first[:NUM_LOOKED_UP]]
    is_local = "://" not in table_folder.url
    begins = ("/", "../", *(STORES if is_local else ()))
    if not paths or not all(is_drive(path) or path.startswith(begins) for path in paths):
        return None
    above = table_folder.resolve("") if is_local else ""
    there = [os.path.normpath(f"{above}/{path}") if path.startswith("..") else path for path in paths[:NUM_COUNTED]]
    if any(path.startswith("/") and is_file(open_folder("/"), path.lstrip("/")) for path in there):
        return None
    shared = shared_folder(paths)
    place = _place_of_tail(table_folder, paths[0], len(shared), also_above=False)
    root = root_of(table_folder)
    if place is not None and f"{place[1].rstrip('/')}/".startswith(root):
        prefix = PathPrefix(
            _beginning(paths[0], place[0]).replace("\\", "/").rstrip("/"), place[1].rstrip("/")[len(root) :]
        )
        rest = paths[0][len(prefix.old) + 1 :]
        # One file of the same name may be another one, and one of a bucket more likely so than in the same folder.
        may_be_same = "/" in rest or not paths[0].startswith(STORES)
        if may_be_same and all(is_file(table_folder, replace_prefix(path, [prefix])) for path in paths):
            return prefix
    if paths[0].startswith(STORES):
        return None
    index = NameIndex(table_folder)
    found = [index.find_all(path) for path in dict.fromkeys(paths)]
    are_here = len(found) > 1 and all(len(one) == 1 for one in found)
    are_different = len({one for several in found for one in several}) == len(found)
    return PathPrefix("/".join(shared), "") if are_here and are_different else None


def refuse_drives(source: str, table_folder: Folder, options: SourceOptions, first: Sequence[NumberedPath]) -> None:
    """Refuse a table of which most of the first paths begin with a drive of Windows, whatever the user replaces."""
    prefixes = parse_prefixes(options.path_prefix)
    mapped = [NumberedPath(line, replace_prefix(path, prefixes)) for line, path in first]
    if 2 * sum(is_drive(path) for _, path in mapped) > len(mapped):
        refuse_missing(source, table_folder, options, first, must=True)


def refuse_copies(source: str, table_folder: Folder, options: SourceOptions, first: Sequence[NumberedPath]) -> None:
    """Refuse URLs of images that are next to a local table, too: the bucket may be out of reach."""
    url = first[0].path
    if options.root or options.path_prefix or "://" in table_folder.url or absolute_form(url) != url or url[0] == "/":
        return
    shared = shared_folder(path for _, path in first[:NUM_LOOKED_UP])
    place = _place_of_tail(table_folder, url, len(shared), also_above=False)
    if place is None:
        return
    old = _beginning(url, place[0])
    choices = [Choice({"path_prefix": (f"{old}={place[1]}",)}, "the images are there")]
    if url.startswith(STORES):
        choices.append(Choice({"root": old}, "the images are read from the bucket"))
    problem = f"{source}: its images are called {shown(url)} and the like, and are in {place[1]}, too"
    raise refuse(problem, source, choices)


def refuse_missing(
    source: str, folder: Folder, options: SourceOptions, first: Sequence[NumberedPath], *, must: bool
) -> None:
    """Refuse paths of which none exists, with the prefix that the user has to replace.

    With `must`, also if the images are not found under the end of their paths.
    """
    paths = [path for _, path in first[:NUM_LOOKED_UP]]
    usual = Counter(map(_is_absolute, paths)).most_common(1)[0][0]
    paths = [path for path in paths if _is_absolute(path) == usual]  # the others are rejected one by one
    shared = shared_folder(paths)
    place = _place_of_tail(folder, paths[0], len(shared), also_above=options.root is None)
    if place is None and not must:
        return
    num_parts, new = place or (len(shared), "FOLDER")
    old = _beginning(paths[0], num_parts)
    mapped = replace_prefix(paths[0], parse_prefixes(options.path_prefix))
    now = f" (after {named('path_prefix')}: {shown(mapped)})" if mapped != paths[0] else ""
    problem = f"{source}: none of the first images exists, for example {shown(paths[0])}{now}"
    meaning = "the images are there now" if place else "FOLDER: where these images are now"
    change: dict[str, Any]
    if not old:
        meaning, change = "FOLDER: where these paths start", {"root": "FOLDER"}
    else:
        change = {"path_prefix": (f"{old}={new}",)}
    raise refuse(problem, source, [Choice(change, meaning)])


def _is_absolute(path: str) -> bool:
    return is_drive(path) or absolute_form(path) is not None


def _place_of_tail(folder: Folder, path: str, max_parts: int, *, also_above: bool) -> tuple[int, str] | None:
    """Return how many parts of a path to replace, and by which folder, so that the image exists; None if none does."""
    parts = [*folder_parts(path), path.replace("\\", "/").rpartition("/")[2]]
    for num_parts in range(1, max_parts + 1)[-_MAX_TAILS:]:
        tail = "/".join(parts[num_parts:])
        if not parts[num_parts]:
            continue  # inside of '//'
        if is_file(folder, tail):
            return num_parts, folder.url
        nearby = search_nearby(folder, [tail], also_above=also_above)
        if nearby is not None and sum(map(bool, nearby.found)) == 1:
            [above] = [one for one, held in zip(nearby.folders, nearby.found, strict=True) if held]
            return num_parts, join(nearby.base.url.rstrip("/"), above)
    return None


def _beginning(path: str, num_parts: int) -> str:
    """Return the first parts of a path, as it is written."""
    found = path.replace("\\", "/")
    end = -1 if num_parts else 0
    for _ in range(num_parts):
        end = found.index("/", end + 1)
    return path[:end] or ("/" if path.startswith("/") else "")
