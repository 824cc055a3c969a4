"""Find the archives in a folder whose contents are data, and show them as folders in it.

    train.zip test.zip               train/ and test/
    cat.tar.gz dog.tar.gz            cat/ and dog/, or the only folder in each
    pets-…-001.zip pets-…-002.zip    parts of one download: one tree
    labels.csv.zip                   labels.csv
    all.zip of cat.zip and dog.zip   all/cat/ and all/dog/

They are placed as somebody would unpack them. An archive that is unpacked next to it stays a file, and so does one with
neither images nor label files, and WebDataset's shards.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import Mount, MountedFolder
from shardkit.archives.unpacking import Unpacker, cut_from, is_archive, plain_name, stem_of
from shardkit.errors import BombError, DataError
from shardkit.naming import printable
from shardkit.record_sources.webdataset import holds_shards, is_tar
from shardkit.sources.recognising.folders.folder_names import original_of
from shardkit.sources.recognising.folders.split_folders import mentions_split, splits_of
from shardkit.sources.recognising.only_folders import is_text, names_in, only_folder, unwrapped
from shardkit.sources.walking import children, ending, is_ignored, is_image, join
from shardkit.storage import Entry, Folder

_MAX_ARCHIVES = 1000  # in one folder
_SHOWN = 3  # archives named in a sentence
_MAX_DEPTH = 3  # archives in archives in archives
_NUM_COMPARED = 20  # files of an archive that are looked for in the folder next to it
_TABLES = (
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".ndjson",
    ".xml",
    ".txt",
    ".parquet",
    ".xlsx",
    ".ods",
    ".yaml",
    ".yml",
    ".mat",
)
# Parts of a download: "pets-20240101T000000Z-001", "photos-002", "images_part3", "takeout.1"
_PART = re.compile(
    r"(?P<of>.+?)(?:-[0-9]{8}T[0-9]{6}Z)?[-_. ]?(?P<word>part[-_ ]?)?(?P<number>[0-9]{1,4})", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Content:
    """A source, or an archive in a folder, and what is in it."""

    name: str  # what its folder is called: the archive's name without its ending
    folder: Folder  # what is in it
    is_archive: bool = True  # whether it may be unpacked into the folder around it


class UnreadArchiveError(DataError):
    """An archive next to folders or images cannot be read; the others may be all that the user wants."""

    def __init__(self, path: str, problem: str) -> None:
        """Keep the path of the archive below the source."""
        super().__init__(problem)
        self.path = path


def with_archives(
    folder: Folder,
    unpacker: Unpacker,
    is_hidden: Callable[[str], bool] = lambda _: False,
    depth: int = _MAX_DEPTH,
    *,
    opens_shards: bool = False,
) -> Folder:
    """Return a folder in which archives are folders; the folder itself if no archive in it holds data.

    `depth` is the number of levels of archives in archives. With `opens_shards`, those of a WebDataset are opened, too.

    Raises:
        DataError: An archive is damaged or encrypted, or only a part of one is there; or it and the folder that is next
            to it hold different files.
    """
    mounts: list[Mount] = []
    without: list[str] = []
    for above in _places(folder) if depth else ():
        if not any(is_archive(name) or cut_from(name) or plain_name(name) for name in names_in(folder, above)):
            continue
        entries = [one for one in children(folder, above) if not is_hidden(join(above, one.name))]
        names = [one.name for one in entries if not one.is_folder]
        names = _archives_among(folder, above, names, opens_shards=opens_shards)
        contents = dict(_contents(folder, above, entries, names, unpacker, depth))
        without += [join(above, name) for name in contents]
        for one in entries:
            plain = plain_name(one.name)
            if plain and not one.is_folder and plain not in {other.name for other in entries}:
                mounts.append(Mount(join(above, plain), *unpacker.table(folder, join(above, one.name)), is_file=True))
                without.append(join(above, one.name))
        taken = {one.name for one in entries if one.name not in contents}
        for mount in placed([*contents.values()], taken):
            mounts.append(mount._replace(at=join(above, mount.at)))
            # The folder itself is not asked for what only the archive has: in a store each question is a request.
            inner = () if mount.at else children(mount.folder, mount.path)
            tops = [mount.at.partition("/")[0]] if mount.at else [top.name for top in inner]
            without += [join(above, top) for top in tops if top not in taken]
    if not mounts:
        return folder
    return MountedFolder(folder.url, (Mount("", folder, without=tuple(without)), *mounts))


def archive_names(tree: Folder) -> list[str]:
    """Return the archives in a folder that `with_archives` mounted; none for another tree."""
    if not isinstance(tree, MountedFolder) or isinstance(tree.mounts[0].folder, ArchiveFolder):
        return []
    return [path for path in sorted(tree.mounts[0].without) if is_archive(path) or plain_name(path)]


def unpacked_names(tree: MountedFolder) -> str:
    """Return the names of the first archives in a tree of `with_archives`, for a sentence."""
    paths = [path for path in sorted(tree.mounts[0].without) if is_archive(path) or plain_name(path)]
    names = [*map(printable, paths)]
    first, last = names[:_SHOWN], f"{len(names) - _SHOWN} more"
    if len(names) <= _SHOWN:
        *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def only_archive(folder: Folder, is_hidden: Callable[[str], bool]) -> str | None:
    """Return the name of an archive that is all that a folder holds, texts such as README aside; None if none is."""
    entries = [one for one in children(folder) if not is_hidden(one.name)]
    names = _archives_among(folder, "", [one.name for one in entries if not one.is_folder])
    others = [one.name for one in entries if one.name not in names and not is_text(one.name)]
    return names[0] if len(names) == 1 and not others else None


def placed(contents: Sequence[Content], taken: set[str]) -> list[Mount]:
    """Return where the contents of archives are in the folder around them, as if they were unpacked there."""
    parts = _parts_of(contents)
    tops = {one.name: only_folder(one.folder) for one in contents}
    taken = taken | {one.name for one in contents if not one.is_archive}
    num_tops = Counter(top.lower() for name, top in tops.items() if top and name not in parts)
    mounts = []
    for one in contents:
        top = tops[one.name]
        if one.name in parts:
            is_here = _has_folders_only(one.folder) and not mentions_split(parts[one.name])
            above = "" if is_here else parts[one.name]
            mounts.append(Mount(above, one.folder))
        elif file := _only_file(one):
            mounts.append(Mount(file, one.folder, file, is_file=True))
        elif top is None or not one.is_archive:
            mounts.append(Mount(one.name, one.folder))
        elif top.lower() == one.name.lower():
            mounts.append(Mount(one.name, one.folder, top))
        elif num_tops[top.lower()] == 1 and top not in taken and not mentions_split(one.name):
            mounts.append(Mount("", one.folder))
        else:
            mounts.append(Mount(one.name, *unwrapped(one.folder)))
    return mounts


def _has_folders_only(folder: Folder) -> bool:
    return all(one.is_folder or is_text(one.name) for one in children(folder))


def _only_file(content: Content) -> str | None:
    """Return the only file of an archive such as labels.csv.zip; None if it holds more."""
    entries = children(content.folder) if content.is_archive else []
    if len(entries) != 1 or entries[0].is_folder or is_image(entries[0].name):
        return None
    return entries[0].name


def _parts_of(contents: Sequence[Content]) -> dict[str, str]:
    """Return the names of contents that are parts of one download, with the name of the whole."""
    groups: dict[str, list[tuple[int, str, bool]]] = {}
    for one in contents:
        if one.is_archive and (found := _PART.fullmatch(one.name)):
            is_clear = bool(found["word"]) or len(found["number"]) > 2
            groups.setdefault(found["of"].lower(), []).append((int(found["number"]), one.name, is_clear))
    parts: dict[str, str] = {}
    by_name = {one.name: one for one in contents}
    for group in groups.values():
        numbers = sorted(number for number, _, _ in group)
        are_all = len(group) > 1 and numbers == [*range(numbers[0], numbers[0] + len(group))] and numbers[0] < 2
        tops = {only_folder(by_name[name].folder) for _, name, _ in group}
        if are_all and (all(is_clear for _, _, is_clear in group) or (len(tops) == 1 and None not in tops)):
            first = _PART.fullmatch(group[0][1])
            parts |= {name: first["of"] if first else name for _, name, _ in group}
    return parts


def _places(folder: Folder) -> Iterator[str]:
    """Return the folders that may have archives: the source, the folders around everything, and split folders."""
    at = ""
    for _ in range(_MAX_DEPTH):
        yield at
        if len(names_in(folder, at)) > _MAX_ARCHIVES:
            return
        entries = children(folder, at)
        folders = [one.name for one in entries if one.is_folder]
        yield from (join(at, name) for name in splits_of(folders))
        files = [one.name for one in entries if not one.is_folder and not is_text(one.name)]
        if len(folders) != 1 or folders[0] in splits_of(folders) or files:
            return
        at = join(at, folders[0])


def _archives_among(folder: Folder, above: str, names: Sequence[str], *, opens_shards: bool = False) -> list[str]:
    """Return the names of the archives of trees among the files of a folder."""
    archives = [name for name in names if is_archive(name) and not is_ignored(name)]
    tars = [name for name in archives if is_tar(name)]
    if tars and not opens_shards and holds_shards(folder, join(above, tars[0]), is_alone=len(archives) == 1):
        archives = [name for name in archives if name not in tars]
    return archives


def _contents(
    folder: Folder, above: str, entries: Sequence[Entry], names: Sequence[str], unpacker: Unpacker, depth: int
) -> Iterator[tuple[str, Content]]:
    """Yield the names and contents of archives that hold data and are not unpacked next to them."""
    sizes = {one.name: one.num_bytes for one in entries}
    others = [one for one in entries if one.name not in names]
    cut = {stem: one.name for one in others if (stem := cut_from(one.name))}
    if cut and not any(one.is_folder or is_image(one.name) for one in others):
        msg = f"{folder.url}: {printable(next(iter(cut.values())))} is a part of an archive that was cut"
        raise DataError(f"{msg}; unpack all parts together, and give the folder of what they hold")
    for name in names:
        stem = stem_of(name)
        if stem in cut or sizes.get(f"{original_of(stem) or ''}{name[len(stem) :]}") == sizes[name]:
            continue  # the last part of an archive, or "pets (1).zip" next to pets.zip
        try:
            opened = unpacker.open(folder, join(above, name))
        except BombError:
            raise
        except DataError as error:
            if any(one.is_folder or is_image(one.name) for one in others):
                raise UnreadArchiveError(join(above, name), str(error)) from error
            raise
        if _holds_data(opened) and not _is_unpacked(opened, folder, above, stem, others):
            yield name, Content(stem, with_archives(opened, unpacker, depth=depth - 1))


def _holds_data(archive: ArchiveFolder | MountedFolder) -> bool:
    """Return whether an archive holds images or archives, or nothing but label files; not a program, for example."""
    paths = [path for path in archive.paths() if not any(map(is_ignored, path.split("/")))]
    if any(is_image(path) or is_archive(path) for path in paths):
        return True
    files = [path for path in paths if not is_text(path.rpartition("/")[2])]
    return bool(files) and all(ending(path) in _TABLES for path in files)


def _is_unpacked(
    archive: ArchiveFolder | MountedFolder, folder: Folder, above: str, stem: str, others: Sequence[Entry]
) -> bool:
    """Return whether the files of an archive are next to it, too, judging by the names and sizes of some of them."""
    names = {one.name for one in others}
    top = only_folder(archive)
    paths = [path for path in archive.paths() if not any(map(is_ignored, path.split("/")))]
    sampled = paths[:: max(1, len(paths) // _NUM_COMPARED)]
    bases = [("", ""), (stem, ""), *([("", f"{top}/"), (stem, f"{top}/")] if top else [])]
    for base, start in bases:
        if base and base not in names:
            continue
        sizes = ((archive.stat(path), folder.stat(join(above, base, path[len(start) :]))) for path in sampled)
        if all(one and other and one.num_bytes == other.num_bytes for one, other in sizes):
            return True
    return False
