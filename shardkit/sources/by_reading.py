"""Open SOURCE as a reading says, and explain where it does not fit the reading that a dataset remembers."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.archives.unpacking import Unpacker, is_archive
from shardkit.errors import CallError, DataError, ShardkitError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.words import words_of
from shardkit.refusals import RefusalError, RefusedDataError
from shardkit.sources.engine.accounting import UNEXPLAINED
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.filtered_folder import FilteredFolder, IgnoreGlob
from shardkit.sources.left_out import IgnoringSource, WithoutRepeatedBoxes
from shardkit.sources.listing import Listing, Source
from shardkit.sources.options import Opening, Remembered, SourceOptions
from shardkit.sources.readings.given import is_said_by, options_saying
from shardkit.sources.readings.values import DETECTED, PathPart, Reading, files_of, renamed
from shardkit.sources.recognising.archives_in_folders import only_archive, with_archives
from shardkit.sources.recognising.several_sources import mount_sources, named_source, no_source
from shardkit.sources.recognising.wrapped_source import WrappedSource, with_archive_problems
from shardkit.sources.walking import ending
from shardkit.storage import Folder, open_folder, os_errors_as


def open_by_reading(
    url: str,
    options: SourceOptions,
    reading: Reading,
    output: Folder | None,
    work: Folder | None,
    tell: Callable[[str], None],
) -> Source:
    """Open SOURCE by a reading; see `open_source`."""
    sources = tuple(map(named_source, (url, *options.also)))
    opening = Opening(open_folder(sources[0].url), options, url, output=output, work=work)
    unpacker = Unpacker(opening.work_folder, tell)
    try:
        with os_errors_as("read the source", opening.folder.url):
            if len(sources) > 1 or sources[0].split:
                tree: Folder = mount_sources(sources, unpacker, output)
                if sources[0].split and reading.split is None:
                    reading = replace(reading, split=PathPart(0))
            else:
                tree, reading = _tree(opening, reading, unpacker)
                if tree.url.rstrip("/") == opening.folder.url.rstrip("/").rpartition("/")[0]:
                    opening = replace(opening, paths=(opening.url.rpartition("/")[2],))
            return _opened(replace(opening, folder=tree), reading)
    except BaseException:
        unpacker.undo()
        raise


def _tree(opening: Opening, reading: Reading, unpacker: Unpacker) -> tuple[Folder, Reading]:
    """Return SOURCE with the archives that a reading names as folders; and the reading, of the file that is SOURCE."""
    folder, archives = opening.folder, tuple(map(IgnoreGlob, reading.archives))
    found = folder.stat("")
    if found is None:
        raise no_source(folder.url)
    if found.is_folder:

        def is_hidden(path: str) -> bool:
            return path == opening.excluded or (is_archive(path) and not any(one.matches(path) for one in archives))

        if archives:
            return with_archives(folder, unpacker, is_hidden, opens_shards=True), reading
        archive = only_archive(folder, lambda path: path == opening.excluded)
        return (with_archives(unpacker.open(folder, archive), unpacker) if archive else folder), reading
    above, _, name = opening.url.rstrip("/").rpartition("/")
    parent = open_folder(above or ("/" if opening.url.startswith("/") else "."))
    if is_archive(name):
        return with_archives(unpacker.open(parent, name), unpacker), reading
    files = {file for _, origin in reading.facts() for file in files_of(origin)}
    if len(files) != 1 or "/" in (file := files.pop()):
        msg = f"{printable(opening.url)}: the reading is of a folder, and this is a file; give its folder as SOURCE"
        raise CallError(msg)
    images = replace(reading.images, unnamed="ignore" if reading.images.unnamed == "reject" else reading.images.unnamed)
    return parent, renamed(replace(reading, images=images), file, name)


def _opened(opening: Opening, reading: Reading) -> Source:
    tree, remembered = opening.folder, opening.options.remembered
    globs = tuple(map(IgnoreGlob, reading.ignore))
    if globs:
        opening = replace(opening, folder=FilteredFolder(tree, globs))
    if remembered is None:
        # Files around the one that is SOURCE are no part of it.
        source: Source = open_reading(opening, reading, is_strict=not opening.paths)
    else:
        try:
            source = open_reading(opening, reading, name=remembered.layout, is_strict=not remembered.is_continued)
        except (CallError, DataError) as error:
            raise _misfit(error, reading, remembered) from error
        source = RememberedSource(source.folder, source, remembered)
    if isinstance(tree, ArchiveFolder | MountedFolder):
        source = with_archive_problems(source, tree)
    if opening.options.drop_repeated_boxes:
        source = WithoutRepeatedBoxes(source.folder, source)
    return IgnoringSource(source.folder, source, globs) if globs else source


@dataclass(frozen=True, slots=True)
class RememberedSource(WrappedSource):
    """A source that is read as a dataset remembers."""

    remembered: Remembered

    def describe(self) -> str:
        return f"{self.inner.describe()}, as {printable(self.remembered.url)} remembers"

    def list_inner(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        try:
            yield from self.inner.list_part(part, batch_rows)
        except (CallError, DataError) as error:
            raise self.misfit(error) from error

    def check_accounts(self, skipped: Mapping[str, int]) -> None:
        # Files of kinds that lay in the dataset's source, too, were no matter then.
        others = {
            phrase: count
            for phrase, count in skipped.items()
            if not phrase.startswith(UNEXPLAINED) or ending(phrase) not in self.remembered.tolerated
        }
        try:
            self.inner.check_accounts(others)
        except (CallError, DataError) as error:
            raise self.misfit(error) from error

    def misfit(self, error: ShardkitError) -> RefusalError:
        return _misfit(error, self.inner.reading or Reading(), self.remembered)


def _misfit(error: ShardkitError, reading: Reading, remembered: Remembered) -> RefusalError:
    known = error.refusal if isinstance(error, RefusalError | RefusedDataError) else None
    options = options_saying(reading)
    said = " ".join(shlex.join(words_of(name, value)) for name, value in options.items())
    said += "" if is_said_by(options, reading) else " and more"
    url = printable(remembered.url)
    problem = f"{known.problem if known else error}; {url} remembers that its source is read by {said}"
    changes = known.changes if known else ()
    if remembered.is_continued:
        return RefusalError(problem, changes, remedy="correct SOURCE, or choose another folder for OUTPUT")
    problem = f"{problem}, and these options say what differs in SOURCE"
    return RefusalError(problem, [*changes, Change("SOURCE is read on its own", {"reading": DETECTED})])
