"""Find the image of each file of annotations: by the same path below two folders, or by its name in the nearest one."""

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.filtered_folder import IgnoreGlob
from shardkit.sources.listing import count_skipped
from shardkit.sources.name_index import NameIndex, nearest, stems_of_file
from shardkit.sources.walking import children, ending, files_below, is_image, is_within, join, parent_of, stem_of
from shardkit.storage import Entry, Folder

_WILD = frozenset("*?[")


@dataclass(frozen=True)
class FileGroup:
    """Files of annotations, and where their images are."""

    globs: tuple[str, ...]  # globs of the files; one if `images` is a folder
    # The folder of the images: a file has the path of its image below it. None: its image has its name, and is in the
    # nearest folder
    images: str | None = None
    below: str = ""  # folder that holds the images, if `images` is None
    split: str | None = None  # the split of all images; None if the files do not give it

    @cached_property
    def place(self) -> str:
        return place_of(self.globs[0])

    @cached_property
    def is_deep(self) -> bool:
        return self.images is None or not _is_flat(self.globs[0])

    def describe(self) -> str:
        where = "of their names" if self.images is None else f"in {printable(self.images) or '.'}/"
        split = f" as {self.split}" if self.split else ""
        return f"{', '.join(map(printable, self.globs))} with the images {where}{split}"


def is_glob(text: str) -> bool:
    """Return whether a text has wildcards."""
    return not _WILD.isdisjoint(text)


def place_of(glob: str) -> str:
    """Return the folder before the first wildcard of a glob."""
    parts = glob.split("/")
    first = next((i for i, part in enumerate(parts) if is_glob(part)), len(parts) - 1)
    return "/".join(parts[: min(first, len(parts) - 1)])


@dataclass(slots=True)
class GroupFiles:
    """The files of a group, as one host sees them."""

    # The files with an image; if it is searched, all files
    pairs: list[tuple[str, Entry]] = field(default_factory=list)
    # Path and entry of the images of each file: several if they differ in their endings
    images_of: dict[str, list[tuple[str, Entry]]] = field(default_factory=dict)
    files_alone: dict[str, Entry] = field(default_factory=dict)  # the files without image
    # The images without file; if they are searched, all images
    images_alone: dict[str, Entry] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)  # folders below that are not listed
    skipped: dict[str, int] = field(default_factory=dict)  # number of other files by ending
    nearest: "NearestImages | None" = None  # what searches the images; None if a folder has them by the same paths

    @property
    def num_files(self) -> int:
        """Number of files and images, which must be the same on each host."""
        of_pairs = sum(map(len, self.images_of.values()))
        return len(self.pairs) + of_pairs + len(self.files_alone) + len(self.images_alone)


def scan_group(
    tree: Folder, folder: Folder, group: FileGroup, images: ImagePaths, side_files: Collection[str] = ()
) -> GroupFiles:
    """Return the files of a group.

    Globs start at `tree`, keys at `folder`.
    """
    files = GroupFiles()
    labels = dict(matching_files(tree, group.globs, side_files))
    place = group.below if group.images is None else group.images
    listed = files_below(folder, place, images.left_out) if group.is_deep else _files_in(folder, place, files)
    found: dict[str, Entry] = {}
    for path, entry in listed:
        if is_image(entry.name):
            found[path] = entry
        elif path not in labels:
            count_skipped(files.skipped, ending(entry.name))
    if group.images is None:
        files.pairs, files.images_alone = [*labels.items()], found
        files.nearest = NearestImages(found)
        return files
    by_stem: dict[str, list[tuple[str, Entry]]] = {}
    start = len(place) + 1 if place else 0
    for path, entry in found.items():
        by_stem.setdefault(posixpath.splitext(path[start:])[0], []).append((path, entry))
    start = len(group.place) + 1 if group.place else 0
    own = {posixpath.splitext(path[start:])[0]: path for path in labels}
    if not group.is_deep and group.place != group.images:
        for path, entry in _files_in(tree, group.place, files):
            if path not in labels:
                count_skipped(files.skipped, ending(entry.name))
    for stem in [one for one in own if one not in by_stem]:
        above, name = posixpath.split(stem)
        others = (join(above, one) for one in stems_of_file(name))
        if other := next((one for one in others if one in by_stem and one not in own), None):
            own[other] = own.pop(stem)
    for stem, path in sorted(own.items()):
        if of_file := by_stem.pop(stem, None):
            files.pairs.append((path, labels[path]))
            files.images_of[path] = of_file
        else:
            files.files_alone[path] = labels[path]
    files.images_alone = {path: entry for _, some in sorted(by_stem.items()) for path, entry in some}
    return files


def _files_in(folder: Folder, path: str, files: GroupFiles) -> Iterator[tuple[str, Entry]]:
    start = f"{path}/" if path else ""
    for entry in children(folder, path):
        if entry.is_folder:
            files.folders.append(start + entry.name)
        else:
            yield start + entry.name, entry


def matching_files(
    tree: Folder, globs: Collection[str], side_files: Collection[str] = ()
) -> Iterator[tuple[str, Entry]]:
    """Yield path and entry of the files that some globs match, whatever the case of their ending, sorted by folder."""
    for text in globs:
        place, is_match = place_of(text), _fitting(text)
        listed = _files_in(tree, place, GroupFiles()) if _is_flat(text) else files_below(tree, place)
        for path, entry in listed:
            name = entry.name
            if is_match(path, name) and not (side_files and (name in side_files or name[:6].lower() == "readme")):
                yield path, entry


def fits(glob: str, path: str) -> bool:
    """Return whether a glob matches the path of a file of annotations."""
    above, place = parent_of(path), place_of(glob)
    is_there = above == place if _is_flat(glob) else is_within(above, place)
    return is_there and _fitting(glob)(path, posixpath.basename(path))


def names_file(globs: Iterable[str], path: str) -> bool:
    """Return whether a file is among those that a reading names, by its path or by a glob."""
    return any(glob == path or fits(glob, path) for glob in globs)


def _is_flat(glob: str) -> bool:
    return "/" not in glob[len(place_of(glob)) :].strip("/")


@lru_cache(maxsize=64)
def _fitting(text: str) -> Callable[[str, str], bool]:
    """Return the function that tells whether a glob matches a path and its last part, whatever its ending's case."""
    above, name = posixpath.split(text)
    kind = name[1:].lower()
    if above in {place_of(text), join(place_of(text), "**")} and name[:1] == "*" and not is_glob(kind):
        return lambda _, name: name.endswith(kind) or name.lower().endswith(kind)
    glob = IgnoreGlob(f"/{text}")

    def is_match(path: str, _: str) -> bool:
        stem, kind = posixpath.splitext(path)
        return glob.matches(stem + kind.lower())

    return is_match


class NearestImages:
    """The images of files by their names: next to it, the only one of its name, what it says, or the nearest one.

    A file has the stem of its image, which counts before the name that it says: files are renamed together with their
    images.
    """

    def __init__(self, images: Mapping[str, Entry]) -> None:
        self.images = images
        self.names = NameIndex(images)

    def _of_stem(self, path: str) -> list[str]:
        stem = stem_of(path)
        return next(filter(None, map(self.names.find_all, (stem, *stems_of_file(stem)))), [])

    def of_name(self, path: str) -> str | None:
        found = self._of_stem(path)
        beside = [one for one in found if parent_of(one) == parent_of(path)]
        one_of = beside if len(found) > 1 else found
        return one_of[0] if len(one_of) == 1 else None

    def find(self, path: str, said: str) -> str | None:
        """Return the image of a file; None if it is nowhere, or several are as near."""
        exact = posixpath.normpath(join(parent_of(path), said)) if said else ""
        if exact in self.images:
            return exact
        of_stem = self._of_stem(path)
        near = nearest([*of_stem, *(self.names.find_all(said) if said else ())], path)
        found = [one for one in near if one in of_stem] or near
        return found[0] if len(found) == 1 else None


def check_file(tree: Folder, path: str) -> None:
    """Check that a file of a reading is there."""
    found = tree.stat(path)
    if found is None or found.is_folder:
        msg = f"{tree.url}: there is no file {printable(path)}, which the reading names"
        raise CallError(msg)


def files_of_globs(tree: Folder, globs: Sequence[str]) -> list[str]:
    """Return the files of some globs."""
    paths: list[str] = []
    for text in globs:
        if not is_glob(text):
            check_file(tree, text)
            paths.append(text)
            continue
        matching = [path for path, _ in matching_files(tree, [text.lstrip("/")])]
        if not matching:
            raise CallError(f"{tree.url}: no file matches {printable(text)}, which the reading names")
        paths += matching
    return list(dict.fromkeys(paths))
