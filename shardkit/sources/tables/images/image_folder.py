"""Find the folder of a table's images, where the paths point or near the table; refuse a table without any image."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.sources.listing import BadRecord
from shardkit.sources.name_index import NameIndex
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.formats.values import shown
from shardkit.sources.tables.images.lookup import ImageLocation, NameResolver
from shardkit.sources.tables.images.nearby import NUM_SEARCHED, Nearby, has_many_folders, is_file, search_nearby
from shardkit.sources.tables.images.prefix_folders import find_prefix_folders
from shardkit.sources.tables.images.prefixes import (
    PathPrefix,
    folder_parts,
    is_drive,
    parse_prefixes,
    replace_prefix,
    shared_folder,
)
from shardkit.sources.tables.paths import KeyBuilder, NumberedPath, absolute_form, build_keys, root_of
from shardkit.sources.tables.refusals import Choice, refuse
from shardkit.sources.tables.split_words import split_of_file
from shardkit.sources.walking import join
from shardkit.storage import STORES, Folder, open_folder

NUM_LOOKED_UP = 100  # images of the first records that are looked up; usually the first one exists
_NUM_COUNTED = 20  # images that are looked up to find out whether a column names images at all
_MAX_COMMANDS = 4  # of a refusal
_MAX_FOLDERS = 16  # that an image is looked up in, one after another
_MAX_TAILS = 12  # ends of a path that are looked up


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the images are that a column names.

    Attributes:
        folder: The folder that keys start at.
        keys: How paths become keys.
        location: How images are found.
        files: For the first paths, the files that they name; fewer if some do not exist.
        num_tried: Number of paths that were looked up.
    """

    folder: Folder
    keys: KeyBuilder
    location: ImageLocation
    files: tuple[str, ...]
    num_tried: int

    @property
    def agrees(self) -> bool:
        """Whether at least half of the paths name files."""
        return bool(self.files) and 2 * len(self.files) >= self.num_tried


def place_images(
    source: str,
    table_folder: Folder,
    options: SourceOptions,
    first: list[NumberedPath],
    all_paths: Callable[[], Iterable[NumberedPath]],
    *,
    counting: bool,
) -> Placement:
    """Find the folder of the images that a column names.

    Args:
        source: URL of the table.
        table_folder: The table's folder.
        options: Options of the source.
        first: Paths of the first records, at least one.
        all_paths: Yields the paths of all records.
        counting: Whether to look up several images even if the first one is found.

    Raises:
        CallError: Images are in several folders, in a folder that only the user may name, or on another machine.
        DataError: The paths are of several kinds.
        MachineError: A folder cannot be listed.
    """
    moved = _moved_here(table_folder, options, first)
    if moved is None:
        _refuse_drives(source, table_folder, options, first)
        _refuse_copies(source, table_folder, options, first)
        folder, keys = build_keys(source, table_folder, options, first, all_paths)
    else:
        folder, keys = table_folder, KeyBuilder(root_of(table_folder), prefixes=(moved,))
    good = [
        key for key in dict.fromkeys(_good_keys(keys, first)) if f"{folder.url}/{key}" != source
    ]  # the table is none
    paths = good[: _NUM_COUNTED if counting else NUM_LOOKED_UP]

    def placed(location: ImageLocation, files: Iterable[str], tried: int, base: Folder = folder) -> Placement:
        there = root_of(base) if base is not folder else keys.root
        builder = KeyBuilder(there, keys.absolute_only, keys.table_folder, keys.prefixes)
        return Placement(base, builder, location, tuple(files), tried)

    if files := list(_existing(folder, paths, all_of_them=counting)):
        there = "" if moved is None else f"; paths that began with {moved.old or '/'} are below {folder.url} now"
        return placed(
            ImageLocation(remark=there), [f"{keys.root}{key}" for key in files], len(paths) if counting else 1
        )
    names = NameResolver(folder)
    if pairs := list(_named(names, paths, all_of_them=counting)):
        remark = f"; images are found by names without endings or in another case, such as {shown(pairs[0][0])}"
        files = [f"{keys.root}{found}" for found, _ in pairs]
        return placed(ImageLocation(by_name=True, remark=remark), files, len(paths) if counting else 1)
    searched = paths[:: max(1, len(paths) // NUM_SEARCHED)][:NUM_SEARCHED]
    nearby = None
    if not keys.absolute_only:
        nearby = search_nearby(folder, searched, also_above=options.root is None)
    if nearby is not None:
        if nearby.is_ambiguous:
            nearby = _of_same_split(source, nearby)
        if nearby.is_ambiguous:
            raise _several_folders(source, nearby)
    base = folder if nearby is None else nearby.base
    if not keys.absolute_only and (len(nearby.folders) > _MAX_FOLDERS if nearby else has_many_folders(folder)):
        index = NameIndex(base)
        if by_name := [found for found, _ in _named(index, searched, all_of_them=True)]:
            remark = f"; its images were found by their names in the folders below {printable(base.url)}"
            files = [f"{root_of(base)}{key}" for key in by_name]
            return placed(ImageLocation(is_anywhere=True, remark=remark), files, len(searched), base)
    if nearby is not None:
        location = _location(nearby)
        files = [
            f"{nearby.base.url}/{above}/{one}"
            for above, held in zip(nearby.folders, nearby.found, strict=True)
            for one in sorted(held)
        ]
        return placed(location, files, len(searched), nearby.base)
    if not keys.absolute_only and (spread := find_prefix_folders(folder)) is not None:
        pairs = [(found, path) for path in searched if (found := spread.find(folder, path)) is not None]
        if pairs:
            remark = f"; images are in folders of their names' first characters, such as {shown(pairs[0][0])}"
            location = ImageLocation(by_name=True, remark=remark, spread=spread)
            return placed(location, [f"{keys.root}{found}" for found, _ in pairs], len(searched))
    start = table_folder if options.root is None else folder
    _refuse_missing(source, start, options, first, must=keys.absolute_only)
    return placed(ImageLocation(), (), len(paths))


def _moved_here(table_folder: Folder, options: SourceOptions, first: Sequence[NumberedPath]) -> PathPrefix | None:
    """Return what to replace in paths of another machine, so that all of them lead to images below the table's folder.

    Returns:
        The prefix; None if paths are relative, lead to images as they are, or the user says where the images are.
    """
    if options.root is not None or options.path_prefix:
        return None
    paths = [path for _, path in first[:NUM_LOOKED_UP]]
    if not paths or not all(is_drive(path) or path.startswith("/") for path in paths):
        return None
    if not is_drive(paths[0]) and any(is_file(open_folder("/"), path.lstrip("/")) for path in paths[:_NUM_COUNTED]):
        return None
    place = _place_of_tail(table_folder, paths[0], len(shared_folder(paths)), also_above=False)
    root = root_of(table_folder)
    if place is None or not f"{place[1].rstrip('/')}/".startswith(root):
        return None
    below = place[1].rstrip("/")[len(root) :]
    prefix = PathPrefix(_beginning(paths[0], place[0]).replace("\\", "/").rstrip("/"), below)
    # One file of the same name may be another one.
    return prefix if all(is_file(table_folder, replace_prefix(path, [prefix])) for path in paths) else None


def _good_keys(keys: KeyBuilder, paths: Iterable[NumberedPath]) -> Iterator[str]:
    for _, path in paths:
        with contextlib.suppress(BadRecord):
            yield keys.key(path)


def _existing(folder: Folder, keys: Iterable[str], *, all_of_them: bool) -> Iterator[str]:
    for key in keys:
        if is_file(folder, key):
            yield key
            if not all_of_them:
                return


def _named(names: NameResolver | NameIndex, keys: Iterable[str], *, all_of_them: bool) -> Iterator[tuple[str, str]]:
    """Yield the keys of files, and the keys that mean them."""
    for key in keys:
        try:
            found = names.find(key)
        except BadRecord:  # several files: the listing rejects the record
            found = key
        if found is not None:
            yield found, key
            if not all_of_them:
                return


def _location(nearby: Nearby) -> ImageLocation:
    base = nearby.base.url.rstrip("/")
    places = [printable(join(base, path)) for path in nearby.folders]
    inexact = ", by names without endings or in another case" if nearby.by_name else ""
    some = ", ".join(places[:3]) + (f" and {len(places) - 3} more folders" if len(places) > 3 else "")
    return ImageLocation(nearby.by_name, nearby.folders, f"; its images were found in {some}{inexact}")


def _of_same_split(source: str, nearby: Nearby) -> Nearby:
    """Return only the folder of the table's split, such as train/ for Training_set.csv, if all are of other splits."""
    splits = [split_of_file(f"{path}/") for path in nearby.folders]
    split = split_of_file(source)
    if split is None or None in splits or splits.count(split) != 1:
        return nearby
    at = splits.index(split)
    return Nearby(nearby.base, (nearby.folders[at],), (nearby.found[at],), nearby.by_name)


def _several_folders(source: str, nearby: Nearby) -> CallError:
    places = [
        join(nearby.base.url.rstrip("/"), path) for path, held in zip(nearby.folders, nearby.found, strict=True) if held
    ]
    # train.csv more likely names images in train_images/ than in test_images/.
    words = re.findall("[a-z]+", source.rpartition("/")[2].rpartition(".")[0].lower())
    places.sort(key=lambda place: not any(word in place.rpartition("/")[2].lower() for word in words))
    path = min(frozenset().union(*nearby.found))
    choices = [Choice({"root": place}, f"the images are in {place.rpartition('/')[2]}/") for place in places]
    problem = f"{source}: image names of the table, such as {shown(path)}, exist in {len(places)} folders"
    return refuse(problem, source, choices[:_MAX_COMMANDS])


def _refuse_drives(source: str, table_folder: Folder, options: SourceOptions, first: Sequence[NumberedPath]) -> None:
    prefixes = parse_prefixes(options.path_prefix)
    mapped = [NumberedPath(line, replace_prefix(path, prefixes)) for line, path in first]
    if 2 * sum(is_drive(path) for _, path in mapped) > len(mapped):
        _refuse_missing(source, table_folder, options, first, must=True)


def _refuse_copies(source: str, table_folder: Folder, options: SourceOptions, first: Sequence[NumberedPath]) -> None:
    """Refuse URLs of images that are next to a local table, too: the bucket may be out of reach.

    Raises:
        CallError: They are, and the user says neither root nor path_prefix.
    """
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


def _refuse_missing(
    source: str, folder: Folder, options: SourceOptions, first: Sequence[NumberedPath], *, must: bool
) -> None:
    """Refuse paths of which none exists, with the prefix that the user has to replace.

    Args:
        source: URL of the table.
        folder: The folder of the table, or that the user named.
        options: Options of the source.
        first: Paths of the first records.
        must: Whether to refuse too if the images are not found under the end of their paths.

    Raises:
        CallError: The images are found there, or `must`.
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
