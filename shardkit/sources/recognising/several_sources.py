"""Read several sources in one call as one tree: each below its own name, or below the split that the user gives.

shardkit convert train.zip test.zip OUT                    train/… test/…
shardkit convert train=rps validation=rps-test-set OUT     train/… validation/…
shardkit convert home street OUT                           home/… street/…; the classes are in each of them
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.archives.mounted_folder import Mount, MountedFolder
from shardkit.archives.unpacking import Unpacker, is_archive, stem_of
from shardkit.dataset.manifest import find_dataset
from shardkit.errors import CallError, DataError
from shardkit.layouts import Layout
from shardkit.naming import printable, split_of_folder
from shardkit.record_sources.tfrecord.files import is_tfrecords
from shardkit.sources.listing import Listing, Source
from shardkit.sources.options import Opening, subfolder
from shardkit.sources.recognising.archives_in_folders import Content, placed, with_archives
from shardkit.sources.recognising.folders.class_folders import PLAIN, ClassFolders, LabelRoot
from shardkit.sources.recognising.folders.class_tree import read_tree
from shardkit.sources.recognising.folders.split_folders import mentions_split
from shardkit.sources.recognising.only_folders import unwrapped
from shardkit.sources.recognising.unmarked_tables import tables_of
from shardkit.sources.recognising.wrapped_source import WrappedSource
from shardkit.storage import Folder, open_folder
from shardkit.storage.opening import shared_folder

_NAMED = re.compile(r"(?P<split>[A-Za-z][A-Za-z0-9_]*)=(?P<url>.+)", re.DOTALL)


class NamedSource(NamedTuple):
    """A source as the user gave it."""

    url: str  # its path or URL
    split: str | None  # the split of all its images; None if the user gave none


def named_source(text: str) -> NamedSource:
    """Return the source that ``SPLIT=PATH`` or ``PATH`` means."""
    found = _NAMED.fullmatch(text)
    if found is None or "/" in found["split"] or open_folder(text).stat("") is not None:
        return NamedSource(text, None)
    split = split_of_folder(found["split"])
    if split is None:
        msg = f"{printable(text)}: {found['split']} before = is no split; write train=, validation= or test="
        raise CallError(msg)
    return NamedSource(found["url"], split)


def no_source(url: str) -> CallError:
    """Return the error for a source that does not exist."""
    return CallError(f"{printable(url)}: there is no such file or folder")


def are_datasets(sources: Sequence[NamedSource]) -> bool:
    """Return whether all sources are datasets that shardkit wrote."""
    found = [find_dataset(one.url) is not None for one in sources]
    if any(found) and not all(found):
        dataset, other = sources[found.index(True)].url, sources[found.index(False)].url
        msg = (
            f"{printable(dataset)} is a dataset and {printable(other)} is none; convert {printable(other)} alone first"
        )
        raise CallError(msg)
    if any(found) and any(one.split for one in sources):
        raise CallError(f"{printable(sources[0].url)}: a dataset has its own splits; leave out the word before =")
    return all(found)


def are_tfrecords(sources: Sequence[NamedSource]) -> bool:
    """Return whether all sources are TFRecord files or folders of them."""
    found = [is_tfrecords(one.url) for one in sources]
    if any(found) and (not all(found) or any(one.split for one in sources)):
        records = printable(sources[found.index(True)].url)
        msg = f"{records}: TFRecords are converted together with other TFRecords only, and have splits of their own"
        raise CallError(f"{msg}; convert them alone")
    return all(found)


def mount_sources(sources: Sequence[NamedSource], unpacker: Unpacker, output: Folder | None) -> MountedFolder:
    """Return several sources as one tree."""
    urls = [open_folder(one.url).url.rstrip("/") for one in sources]
    for i, url in enumerate(urls):
        if any(url == other or url.startswith(f"{other}/") for j, other in enumerate(urls) if j != i):
            raise CallError(f"{printable(url)}: its images are given twice; give each file or folder once")
    names = _names_of(urls)
    if any(one.split for one in sources) and (other := next((one.url for one in sources if not one.split), None)):
        msg = (
            f"{printable(other)}: some sources have a split and this one has none; write train=, validation= or test= "
        )
        raise CallError(f"{msg}in front of it")
    contents: list[Content] = []
    mounts: list[Mount] = []
    for one, url, name in zip(sources, urls, names, strict=True):
        above, _, last = url.rpartition("/")
        found = open_folder(url).stat("")
        if found is None:
            raise no_source(url)
        folder = open_folder(url if found.is_folder else above or "/")
        if not found.is_folder and not is_archive(last):
            mounts.append(Mount(last if one.split is None else f"{one.split}/{last}", folder, last, is_file=True))
            continue
        excluded = Opening(folder, output=output).excluded if found.is_folder else None
        opened = folder if found.is_folder else unpacker.open(folder, last)
        tree = with_archives(opened, unpacker, lambda path, hidden=excluded: path == hidden)  # type: ignore[misc]
        if excluded is not None:
            tree = MountedFolder(tree.url, (Mount("", tree, without=(excluded,)),))
        if one.split is not None:
            mounts.append(Mount(one.split, *unwrapped(tree)))
        else:
            contents.append(Content(name, tree, is_archive=not found.is_folder))
    mounts += placed(contents, {mount.at.partition("/")[0] for mount in mounts})
    return MountedFolder(_shared(urls), tuple(mounts))


def _names_of(urls: Sequence[str]) -> list[str]:
    """Return the shortest ends of paths that all differ, without the endings of archives."""
    for depth in range(1, max(url.count("/") for url in urls) + 2):
        ends = ["/".join([*url.split("/")[-depth:-1], stem_of(url.rpartition("/")[2])]) for url in urls]
        if len(set(ends)) == len(ends):
            break
    return [end.lstrip("/") for end in ends]


def _shared(urls: Sequence[str]) -> str:
    try:
        return shared_folder([url.rpartition("/")[0] or "/" for url in urls])
    except CallError:
        return "SOURCE"


def class_folders_in_each(
    tree: Folder, sources: Sequence[NamedSource], recognise: Callable[[Folder], Layout | None]
) -> ClassFolders | None:
    """Return the class folders of several sources that each have their own; None if the tree is something else."""
    if not isinstance(tree, MountedFolder) or any(one.split for one in sources):
        return None
    places = [mount.at for mount in tree.mounts]
    if len(set(places)) < len(sources) or "" in places or any(map(mentions_split, places)):
        return None
    for at in places:
        folder, entry = subfolder(tree, at), tree.stat(at)
        if entry is None or not entry.is_folder:
            return None
        if recognise(folder) is not None or tables_of(folder, None):
            return None
        try:
            found = read_tree(folder, None, folder.url)
        except CallError:
            return None
        if not isinstance(found, ClassFolders) or found.roots != PLAIN or found.splits_below:
            return None
    roots = tuple(LabelRoot(at, None) for at in places)
    remark = f"; in each of {', '.join(f'{printable(at)}/' for at in places)}"
    return ClassFolders(tree, roots, remark=remark)


def given_splits(source: Source, sources: Sequence[NamedSource]) -> Source:
    """Return a source whose images have the splits that the user gave; the source itself if the user gave none."""
    splits = {one.split for one in sources if one.split}
    return GivenSplits(source.folder, source, tuple(sorted(splits))) if splits else source


@dataclass(frozen=True, slots=True)
class GivenSplits(WrappedSource):
    """A source of which the first folder of a key is the split, or all images have one split."""

    splits: tuple[str, ...]

    @property
    def reading(self) -> None:
        """See Source; the folders of the sources are not below one."""
        return

    def list_inner(self, part: object, batch_rows: int) -> Iterator[Listing]:
        """See WrappedSource; the listings with their splits."""
        return map(self._with_splits, self.inner.list_part(part, batch_rows))

    def _with_splits(self, listing: Listing) -> Listing:
        table = listing.table()
        splits = pa.nulls(len(table), pa.string())
        for split in self.splits:
            is_of_it = pc.starts_with(table["key"], f"{split}/")
            splits = pc.if_else(is_of_it, split, splits)
        if len(self.splits) == 1:
            splits = pa.array([self.splits[0]] * len(table), pa.string())
        lost = pc.and_(pc.is_null(splits), pc.is_null(table["reason"]))
        if pc.any(lost).as_py():
            key = table.filter(lost)["key"][0].as_py()
            msg = f"{self.folder.url}/{printable(key)}: it is not clear which of the sources this image is from"
            raise DataError(f"{msg}; convert them apart")
        others = table.filter(pc.and_(pc.is_valid(table["split"]), pc.not_equal(table["split"], splits)))
        if len(others):
            own, key = others["split"][0].as_py(), others["key"][0].as_py()
            msg = f"{self.folder.url}/{printable(key)} has the split {own!r} in its source, which was given another one"
            raise DataError(f"{msg}; leave out the word before =, or give the folder of one split")
        at = table.schema.get_field_index("split")
        return replace(listing, rows=[], columns=table.set_column(at, table.schema.field(at), splits))
