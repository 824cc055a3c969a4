"""Open SOURCE: choose the layout that reads it."""

import contextlib
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.archives.unpacking import Unpacker, is_archive
from shardkit.errors import CallError, DataError
from shardkit.layouts import LAYOUTS, Layout, layout_of_title
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.call import Change
from shardkit.record_sources.datasets.opening import refuse_unfinished
from shardkit.record_sources.tfrecord.files import place_together
from shardkit.record_sources.webdataset import holds_samples, is_tar
from shardkit.refusals import RefusalError, RefusedDataError, UnrecognisedError
from shardkit.sources.by_reading import open_by_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.filtered_folder import FilteredFolder, IgnoreGlob
from shardkit.sources.left_out import IgnoringSource, WithoutRepeatedBoxes
from shardkit.sources.listing import Source, below
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.proving.asking import question, rival_readings, with_offers
from shardkit.sources.proving.evidence import Evidence
from shardkit.sources.proving.proof import doubts
from shardkit.sources.recognising.accounting import accounted
from shardkit.sources.recognising.archives_in_folders import (
    UnreadArchiveError,
    archive_names,
    only_archive,
    unpacked_names,
    with_archives,
)
from shardkit.sources.recognising.detecting import function_of, layout_of_file, recognising_layouts
from shardkit.sources.recognising.only_folders import top_of, without_wrappers
from shardkit.sources.recognising.several_sources import (
    NamedSource,
    are_datasets,
    are_tfrecords,
    class_folders_in_each,
    given_splits,
    mount_sources,
    named_source,
    no_source,
)
from shardkit.sources.recognising.unmarked_folders import open_unmarked_folder
from shardkit.sources.recognising.unmarked_tables import IsReadWithout
from shardkit.sources.recognising.wrapped_source import NotedSource, from_top, innermost, with_archive_problems
from shardkit.sources.walking import children, ending, join, listing_once
from shardkit.storage import Folder, open_folder, os_errors_as

_OF_PACKED = {"extracted", "hf-parquet", "tfrecord", "webdataset"}  # layouts without archives of trees
_ANY_TREE = {"class-folders", "file-names", "unlabelled"}  # layouts that read every tree, as the user knows


@listing_once()
def open_source(
    url: str,
    options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    *,
    output: Folder | None = None,
    work: Folder | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Source:
    """Detect the layout of a source and open it: a folder, table, list, label file or archive.

    `output` is not listed if it is inside the source, `work` holds images that listing has to unpack, and `tell` tells
    the user about an archive that takes a while.
    """
    if options.reading is not None:
        return open_by_reading(url, options, options.reading, output, work, tell)
    if options.layout is None and options.class_level > 1:
        options = replace(options, layout="class-folders")
    named_sources = tuple(map(named_source, (url, *options.also)))
    may_be_datasets = options.layout is None or (options.also and options.layout != "tfrecord")
    if options.layout == "shardkit" or (may_be_datasets and are_datasets(named_sources)):
        return _open("shardkit", Opening(open_folder(url), options, url, output=output, work=work))
    globs = tuple(IgnoreGlob(text) for text in options.ignore)
    if options.also and (options.layout == "tfrecord" or (options.layout is None and are_tfrecords(named_sources))):
        folder, paths = place_together((url, *options.also))
        opening = Opening(_hiding(folder, globs), options, url, paths, output, work)
        source = _open("tfrecord", opening)
        return IgnoringSource(source.folder, source, globs) if globs else source
    opening = Opening(open_folder(named_sources[0].url), options, url, output=output, work=work)
    unpacker = Unpacker(opening.work_folder, tell)
    try:
        source, left_out = _recognised(named_sources, opening, unpacker, globs)
    except BaseException:
        unpacker.undo()
        raise
    if options.drop_repeated_boxes:
        source = WithoutRepeatedBoxes(source.folder, source)
    return IgnoringSource(source.folder, source, globs + left_out, left_out) if globs or left_out else source


def _recognised(
    sources: tuple[NamedSource, ...], opening: Opening, unpacker: Unpacker, globs: tuple[IgnoreGlob, ...]
) -> tuple[Source, tuple[IgnoreGlob, ...]]:
    """Return the source that is recognised and proved, and the globs that hide what is left out of it."""
    options = opening.options
    is_one = len(sources) == 1 and not sources[0].split
    open_with = partial(_open_one, unpacker)
    try:
        with os_errors_as("read the source", opening.folder.url):
            if not is_one:
                tree = mount_sources(sources, unpacker, opening.output)
                opening = replace(opening, folder=tree, options=replace(options, also=()))
                open_with = partial(_open_several, sources, tree)
            source, left_out = _open_without_others(opening, globs, open_with)
    except (RefusalError, RefusedDataError) as error:
        if is_unasked(options):
            raise with_offers(error, _unpacked(_of_file(opening), unpacker) if is_one else opening) from error
        raise
    source, asked = _of_top(source, opening, is_one=is_one)

    def without(more: Sequence[str]) -> tuple[Source, tuple[str, ...]]:
        """Return the source as it is recognised without more files, and all globs that hide what is not read."""
        hiding = (*globs, *map(IgnoreGlob, more))
        other, also = _open_without_others(opening, hiding, open_with)
        return _of_top(other, opening, is_one=is_one)[0], tuple(one.text for one in (*hiding, *also))

    if is_unasked(options):
        refuse_doubtful(source, asked, globs, left_out, without)
    return source, left_out


def _of_top(source: Source, opening: Opening, *, is_one: bool) -> tuple[Source, Opening]:
    """Return a source with its reading as one of SOURCE, and the opening of the folder that its paths start at."""
    if not isinstance(found := innermost(source), ReadingSource):
        return source, opening
    # SOURCE may be a file in the folder that its paths start at.
    is_file = opening.folder.url.startswith(f"{found.tree.url.rstrip('/')}/")
    top = found.tree if is_file else _top(found.tree, opening.folder)
    of_top = replace(opening, folder=top, paths=(below(top, opening.folder.url),) if is_file else ())
    return from_top(source, top, archive_names(top), is_one=is_one), of_top


def _of_file(opening: Opening) -> Opening:
    """Return the opening of a file that is SOURCE as one in its folder; that of a folder or archive as it is."""
    entry, name = opening.folder.stat(""), posixpath.basename(opening.url.rstrip("/"))
    if entry is None or entry.is_folder or is_archive(name):
        return opening
    return replace(opening, folder=_folder_of(opening.folder), paths=(name,))


def _folder_of(file: Folder) -> Folder:
    """Return the folder that a file, which was opened as a folder, is in."""
    return open_folder(file.url.rstrip("/").rpartition("/")[0] or "/")


def _unpacked(opening: Opening, unpacker: Unpacker) -> Opening:
    """Return the opening of a folder or archive with all archives as folders, if they can be read."""
    entry, tree = opening.folder.stat(""), opening.folder
    with contextlib.suppress(DataError):
        if entry is not None and not entry.is_folder:
            tree = unpacker.open(_folder_of(tree), posixpath.basename(opening.url))
        return replace(opening, folder=with_archives(tree, unpacker))
    return opening


def is_unasked(options: SourceOptions) -> bool:
    """Return whether nothing says how a source is read."""
    said = (options.layout, options.label_pattern, options.image_column, *options.label_columns)
    return not any(said) and options.class_level == 1


def refuse_doubtful(
    source: Source,
    opening: Opening,
    globs: tuple[IgnoreGlob, ...],
    left_out: tuple[IgnoreGlob, ...],
    without: Callable[[Sequence[str]], tuple[Source, tuple[str, ...]]],
) -> None:
    """Ask the user if the reading that was recognised is not proved; `without` recognises one without some files."""
    reading = source.reading
    if reading is None:
        return
    seen = replace(opening, folder=_hiding(opening.folder, globs))
    evidence = Evidence.of(source, reading, seen)
    if found := [*doubts(evidence, tuple(one.text for one in left_out))]:
        hidden = tuple(one.text for one in (*globs, *left_out))
        rivals = rival_readings(reading, without)
        raise question(evidence, opening, replace(reading, ignore=hidden), found, rivals)


def _open_without_others(
    opening: Opening,
    globs: tuple[IgnoreGlob, ...],
    open_with: Callable[[Opening, tuple[IgnoreGlob, ...]], Source],
) -> tuple[Source, tuple[IgnoreGlob, ...]]:
    """Return the source without folders and files that are to be left out, and the globs that hide these."""
    left_out: tuple[IgnoreGlob, ...] = ()
    remark = ""
    while True:
        try:
            source = open_with(replace(opening, left_out=tuple(one.text for one in left_out)), globs + left_out)
        except IsReadWithout as found:
            left_out += tuple(map(IgnoreGlob, found.globs))
            remark += f"; {', '.join(printable(glob[1:]) for glob in found.globs)} {found.why}"
            continue
        source = NotedSource(source.folder, source, remark) if remark else source
        return source, left_out


def _top(folder: Folder, given: Folder) -> Folder:
    """Return the tree that a source's folder is in: its archive, or the folder that the user gave."""
    inner = folder.inner if isinstance(folder, FilteredFolder) else folder
    return replace(inner, root="") if isinstance(inner, ArchiveFolder | MountedFolder) else given


def _open_one(unpacker: Unpacker, opening: Opening, globs: tuple[IgnoreGlob, ...]) -> Source:
    folder, url, layout = opening.folder, opening.url, opening.options.layout
    found = folder.stat("")
    if found is None:
        raise no_source(folder.url)
    if found.is_folder:
        excluded = opening.excluded

        def is_hidden(path: str) -> bool:
            return path == excluded or any(glob.matches(path) for glob in globs)

        if layout is None and (archive := only_archive(folder, is_hidden)):
            url = join(url.rstrip("/"), archive)
            return _open_one(unpacker, replace(opening, folder=open_folder(url), url=url), globs)
        tree = folder
        if layout not in _OF_PACKED:
            try:
                tree = with_archives(folder, unpacker, is_hidden, opens_shards=layout == "unlabelled")
            except UnreadArchiveError as error:
                without = Change(
                    f"without {printable(error.path)}", {"ignore": (*opening.options.ignore, f"/{error.path}")}
                )
                raise RefusedDataError(str(error), [without]) from error
        if not isinstance(tree, MountedFolder):
            return _open_tree(tree, opening, globs)
        source = _open_tree(tree if excluded is None else tree.without(excluded), opening, globs)
        return NotedSource(source.folder, source, f"; with what is in {unpacked_names(tree)}")
    name = url.rstrip("/").rpartition("/")[2]
    of_file = _of_file(opening)
    parent = of_file.folder if of_file.paths else _folder_of(folder)
    is_shard = layout != "unlabelled" and is_tar(name) and (layout == "webdataset" or holds_samples(parent, name))
    if is_archive(name) and layout != "webdataset" and not is_shard:
        whole = with_archives(unpacker.open(parent, name), unpacker)
        return _open_tree(_archive_root(whole, opening.options), opening, globs)
    opening = replace(opening, folder=parent, paths=(name,))
    return _open(layout_of_file(opening, name), opening)


def _open_several(
    sources: Sequence[NamedSource], tree: MountedFolder, opening: Opening, globs: tuple[IgnoreGlob, ...]
) -> Source:
    if opening.options.layout is None and opening.options.label_pattern is None and not globs:
        classes = class_folders_in_each(tree, sources, _recognise)
        if classes is not None:
            opening = replace(opening, folder=tree)
            return with_archive_problems(accounted(classes.source(opening), opening), tree)
    return given_splits(_open_tree(tree, opening, globs), sources)


def _hiding(folder: Folder, globs: tuple[IgnoreGlob, ...], above: str = "") -> Folder:
    return FilteredFolder(folder, globs, above) if globs else folder


def _open_tree(tree: Folder, opening: Opening, globs: tuple[IgnoreGlob, ...]) -> Source:
    """Open a tree, without the folders around it if nothing is recognised in it.

    A refusal that asks the user a question is final: a tree without wrappers might be read without it.
    """
    try:
        return _open_as_it_is(tree, opening, globs)
    except (CallError, DataError) as error:
        if isinstance(error, RefusalError | RefusedDataError) and not isinstance(error, UnrecognisedError):
            raise
        # Globs with a path are of the tree as it is.
        if opening.options.layout not in _ANY_TREE and not any("/" in glob.text.rstrip("/") for glob in globs):
            for other, note in without_wrappers(_hiding(tree, globs), opening.excluded):
                with contextlib.suppress(CallError, DataError, IsReadWithout):
                    source = _open_as_it_is(other, opening, globs)
                    return NotedSource(source.folder, source, note)
        raise


def _open_as_it_is(tree: Folder, opening: Opening, globs: tuple[IgnoreGlob, ...]) -> Source:
    above = tree.root if isinstance(tree, ArchiveFolder | MountedFolder) else ""
    source = _open_folder(replace(opening, folder=_hiding(tree, globs, above)))
    inner = source.folder.inner if isinstance(source.folder, FilteredFolder) else source.folder
    archive = inner if isinstance(inner, ArchiveFolder | MountedFolder) else tree
    return with_archive_problems(source, archive) if isinstance(archive, ArchiveFolder | MountedFolder) else source


def _archive_root(archive: Folder, options: SourceOptions) -> Folder:
    """Return the archive's only top folder if a layout reads it; it may also be a class or a split."""
    root = top_of(archive)
    if options.layout == "class-folders":
        entries = children(root)
        is_wrapper = all(ending(one.name) not in IMAGE_ENDINGS for one in entries if not one.is_folder)
        return root if is_wrapper and any(one.is_folder for one in entries) else archive
    if options.layout is None and options.label_pattern is None and _recognise(root) is None:
        return archive
    return root


def _open_folder(opening: Opening) -> Source:
    options = opening.options
    layout: Layout | None = options.layout
    if layout is None:
        refuse_unfinished(opening.folder)
    if layout is None and options.label_pattern is not None:
        layout = "file-names"
    if layout is None:
        found = open_unmarked_folder(opening, _recognise)
        if isinstance(found, Source):
            options.refuse_unaccepted(layout_of_title(found.layout) or "table")
            return accounted(found, opening)
        inner, layout = found
        if layout == "tfrecord":
            refuse_unfinished(inner.folder, has_records=True)
        return accounted(_open(layout, inner), opening)
    return accounted(_open(layout, opening), opening)


def _open(layout: Layout, opening: Opening) -> Source:
    opening.options.refuse_unaccepted(layout)
    open_layout: Callable[[Opening], Source] = function_of(LAYOUTS[layout].open)
    return open_layout(opening)


def _recognise(folder: Folder) -> Layout | None:
    return next(recognising_layouts(folder), None)
