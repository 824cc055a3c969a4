"""Explain why a source is read as its layout: what speaks for it, and for and against the next two.

    chosen: table, because labels.csv names 40 of 40 images by the path
    next: class-folders; for it, 2 folders may be classes; against it, labels.csv says what the images are
    next: unlabelled; for it, it reads any tree of images; against it, only --unlabelled chooses it

Only `plan --explain` pays for it: each layout is asked once more whether it recognises the folder.
"""

import contextlib
import fnmatch
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.errors import ShardkitError
from shardkit.layouts import LAYOUTS, Layout, layout_of_title
from shardkit.naming import counted, printable
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening, subfolder
from shardkit.sources.file_names import ending
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS
from shardkit.sources.ignoring.filtered_folder import FilteredFolder
from shardkit.sources.listing import Source
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.claims.collecting import naming_files
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.detecting import function_of, recognising_layouts
from shardkit.sources.recognising.folders.annotated_trees import NO_LAYOUT
from shardkit.sources.recognising.folders.beside_classes import Without
from shardkit.sources.recognising.folders.class_folders import ClassFolders
from shardkit.sources.recognising.folders.class_tree import read_tree
from shardkit.sources.recognising.folders.first_images import holds_image, listed
from shardkit.sources.recognising.folders.flat_folders import guess_pattern
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.recognising.folders.tree_forms import FlatFolders, Wrapper
from shardkit.sources.used_files import UsedFile
from shardkit.sources.walking import children, folders_in, is_image
from shardkit.storage import Folder, open_folder

_NUM_NEXT = 2  # layouts that are compared with the chosen one
_FILES_SHOWN = 2
_LOOKED_INTO = 20  # folders
_PACKED = {"shardkit", "tfrecord", "webdataset", "hf-parquet"}  # layouts of images inside files
_OF_NAMES = {"list", "table", "metadata"}  # layouts of files that name images
_ANY_TREE = "it reads any tree of images"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A layout that was not chosen.

    Attributes:
        layout: The layout.
        reason: What speaks for it, as a clause; '' for nothing.
        objection: What speaks against it, as a clause.
        files: Files that it would be read with, if its own were found.
    """

    layout: Layout
    reason: str
    objection: str
    files: tuple[UsedFile, ...] = ()

    @property
    def sentence(self) -> str:
        """The candidate for the user, without a full stop."""
        reason = f"; for it, {self.reason}" if self.reason else ""
        return f"next: {self.layout}{reason}; against it, {self.objection}"


def explained(source: Source, options: SourceOptions, url: str, num_images: int, num_classes: int) -> tuple[str, ...]:
    """Return why a source is read as its layout: a sentence for it, and one for each of the next two layouts."""
    chosen = layout_of_title(source.layout)
    asked = _asked_for(options)
    first = f"chosen: {chosen or source.layout}, because {asked}{_evidence(source, num_images, num_classes)}"
    if chosen in _PACKED:
        return (first, "no other layout reads images that are inside such files")
    if not isinstance(_inner(source.folder), ArchiveFolder | MountedFolder) and _is_file(url):
        return (first, "no other layout was compared, because SOURCE is a file; give its folder to compare them")
    found = itertools.islice(_candidates(source, chosen, url, asked), _NUM_NEXT)
    return (first, *(one.sentence for one in found))


def _asked_for(options: SourceOptions) -> str:
    """Return the clause for a layout that the user named, ending with ': '; '' if shardkit detected it."""
    if options.layout == "unlabelled":
        return f"{named('unlabelled', True)} asks for it: "
    if options.layout is not None:
        return f"{named('layout', options.layout)} asks for it: "
    return "" if options.label_pattern is None else f"{named('label_pattern')} asks for it: "


def _evidence(source: Source, num_images: int, num_classes: int) -> str:
    images = counted(num_images, "image")
    if claims := [one.sentence for one in source.claims if one.is_used]:
        return _shortened(claims)
    if files := source.used_files:
        return f"{_given(files)}, for {images}"
    layout = layout_of_title(source.layout)
    if layout == "class-folders":
        return f"folders give {images} and {counted(num_classes, 'class')}"
    if layout == "file-names":
        return f"the names of {images} give {counted(num_classes, 'class')}"
    return f"it reads {images}"


def _given(files: tuple[UsedFile, ...]) -> str:
    return _shortened([f"{printable(one.path)} gives {one.gives}" for one in files])


def _shortened(phrases: list[str]) -> str:
    more = len(phrases) - _FILES_SHOWN
    return " and ".join(phrases[:_FILES_SHOWN]) + (f", and so do {counted(more, 'more file')}" if more > 0 else "")


def _objection(source: Source, asked: str) -> str:
    """Return what speaks against a layout that could be read, too."""
    if asked:
        return f"{asked.partition(' asks')[0]} asks for another one"
    if files := source.used_files:
        return f"{printable(files[0].path)} says what the images are"
    return "the folders say what the images are"


def _candidates(source: Source, chosen: Layout | None, url: str, asked: str) -> Iterator[Candidate]:
    """Yield the layouts that were not chosen, those with the most evidence first."""
    folder, objection = source.folder, _objection(source, asked)
    others = list(_recognised(folder, chosen, url, objection))
    yield from others
    used = (*source.used_files, *(file for one in others for file in one.files))
    of_files = list(_of_claims(source, used, asked, objection))
    yield from of_files
    flat: FlatFolders | None = None
    if chosen != "class-folders":
        flat, candidate = _as_class_folders(folder, url, objection)
        yield candidate
    if not of_files and chosen not in _OF_NAMES:
        yield Candidate("table", "", "no other table, list or JSON in SOURCE names its images")
    if flat is not None and chosen != "file-names":
        yield from _as_file_names(folder, flat)
    if chosen != "unlabelled":
        yield Candidate("unlabelled", _ANY_TREE, f"only {named('unlabelled', True)} chooses it")


def _recognised(folder: Folder, chosen: Layout | None, url: str, objection: str) -> Iterator[Candidate]:
    """Yield the layouts whose files are in the folder, and that are looked for after the chosen one."""
    order: list[Layout] = []
    with contextlib.suppress(ShardkitError):  # a file that only looks like one of a later layout
        for name in recognising_layouts(folder):
            order.append(name)  # noqa: PERF402 - those before an error count
    for name in order[order.index(chosen) + 1 :] if chosen in order else order:
        if name == chosen:
            continue
        try:
            other: Source = function_of(LAYOUTS[name].open)(Opening(folder, url=url))
        except ShardkitError as error:
            yield Candidate(name, "files of it are there", _problem(error, folder, url))
            continue
        after = f"the files of {chosen} are looked for first" if chosen in order else objection
        yield Candidate(name, _given(other.used_files) or "files of it are there", after, other.used_files)


def _of_claims(source: Source, used: Sequence[UsedFile], asked: str, objection: str) -> Iterator[Candidate]:
    """Yield a table or list for each file that names images, and that neither the source nor its layouts use."""
    claims = [one for one in source.claims if not one.is_used]
    if asked or source.label_files is None:
        names = ImageNames(source.folder, None)
        claims = [replace(one.claim(names), why=objection) for one in naming_files(source.folder, None, names)]
    for one in sorted(claims, key=lambda one: (one.gives != "labels", -one.num_named)):
        if not any(fnmatch.fnmatchcase(one.path, file.path) for file in used):
            yield Candidate("list" if ending(one.path) in TEXT_ENDINGS else "table", one.sentence, one.why)


def _as_class_folders(folder: Folder, url: str, objection: str) -> tuple[FlatFolders | None, Candidate]:
    """Return the folders of images if no folder may be a class, and what the reading as class folders has for it."""
    try:
        found = read_tree(folder, None, SourcePlace(url))
        while isinstance(found, Wrapper):
            folder = subfolder(folder, found.name)
            found = read_tree(folder, None, SourcePlace(url))
    except ShardkitError as error:
        return None, Candidate("class-folders", _holding_images(folder), _problem(error, folder, url))
    if isinstance(found, ClassFolders):
        folders = (name for root in found.roots for name in folders_in(folder, root.path))
        names = dict.fromkeys(name for name in folders if name not in found.left_out)
        may = "may be a class" if len(names) == 1 else "may be classes"
        return None, Candidate("class-folders", f"{listed([*names])} {may}", objection)
    if isinstance(found, Without):
        shown = ", ".join(map(printable, found.paths))
        return None, Candidate("class-folders", _holding_images(folder), f"{shown} {found.why}")
    return found, Candidate("class-folders", "", "no folder in SOURCE may be a class")


def _holding_images(folder: Folder) -> str:
    names = [name for name in folders_in(folder)[:_LOOKED_INTO] if holds_image(folder, name)]
    return f"{listed(names)} {'holds' if len(names) == 1 else 'hold'} images" if names else ""


def _as_file_names(folder: Folder, flat: FlatFolders) -> Iterator[Candidate]:
    for root in flat.roots:
        names = [one.name for one in children(folder, root.path) if not one.is_folder and is_image(one.name)]
        if guess_pattern(names):
            reason = f"names such as {printable(names[0])} begin with words that repeat"
            yield Candidate("file-names", reason, f"only {named('label_pattern')} chooses it")
            return


def _problem(error: ShardkitError, folder: Folder, url: str) -> str:
    text = error.refusal.problem if isinstance(error, RefusalError) else str(error).splitlines()[0]
    return text.removeprefix(f"{url}: ").removeprefix(f"{folder.url}: ").removesuffix(NO_LAYOUT)


def _inner(folder: Folder) -> Folder:
    return folder.inner if isinstance(folder, FilteredFolder) else folder


def _is_file(url: str) -> bool:
    found = open_folder(url).stat("")
    return found is not None and not found.is_folder
