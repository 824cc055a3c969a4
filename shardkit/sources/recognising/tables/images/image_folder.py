"""Find the folder of a table's images, where the paths point or near the table; refuse a table without any image."""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.sources.engine.lookup import ImageLocation, NameResolver
from shardkit.sources.engine.prefix_folders import find_prefix_folders
from shardkit.sources.engine.split_columns import split_of_file
from shardkit.sources.engine.table_paths import KeyBuilder, NumberedPath, build_keys, root_of
from shardkit.sources.engine.table_refusals import Choice, refuse
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.listing import BadRecord
from shardkit.sources.name_index import NameIndex
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.tables.images.moved_paths import (
    NUM_COUNTED,
    NUM_LOOKED_UP,
    moved_here,
    refuse_copies,
    refuse_drives,
    refuse_missing,
)
from shardkit.sources.recognising.tables.images.nearby import NUM_SEARCHED, Nearby, is_file, search_nearby
from shardkit.sources.walking import join
from shardkit.storage import Folder

_MAX_COMMANDS = 4  # of a refusal
_MAX_FOLDERS = 16  # that an image is looked up in, one after another


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

    With `counting`, several images are looked up even if the first one is found.
    """
    moved = moved_here(table_folder, options, first)
    if moved is None:
        refuse_drives(source, table_folder, options, first)
        refuse_copies(source, table_folder, options, first)
        folder, keys = build_keys(source, table_folder, options, first, all_paths)
    else:
        folder, keys = table_folder, KeyBuilder(root_of(table_folder), prefixes=(moved,))
    good = [
        key for key in dict.fromkeys(_good_keys(keys, first)) if f"{folder.url}/{key}" != source
    ]  # the table is none
    paths = good[: NUM_COUNTED if counting else NUM_LOOKED_UP]

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
    if not keys.absolute_only and (nearby is None or len(nearby.folders) > _MAX_FOLDERS):
        index = NameIndex(base)
        by_name = [found for found, _ in _named(index, searched, all_of_them=True)]
        are_different = 1 < len(set(by_name)) == len(searched)
        if by_name and (nearby is not None or are_different):
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
            location = ImageLocation(by_name=True, remark=remark)
            return placed(location, [f"{keys.root}{found}" for found, _ in pairs], len(searched))
    start = table_folder if options.root is None else folder
    refuse_missing(source, start, options, first, must=keys.absolute_only)
    return placed(ImageLocation(), (), len(paths))


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
