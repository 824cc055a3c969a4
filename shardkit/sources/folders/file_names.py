"""Labels in file names: ``SOURCE/cat_001.jpg`` with ``label_pattern='^([a-z]+)_'``.

The pattern is searched in the file's name, ending included, and not in its folders: ``^`` means the start of the name
wherever the file is, and class folders have a layout of their own. The group ``label`` is the class (without it, the
first group that has no other meaning), ``split`` is the split, and ``group`` names examples that stay in one split.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import CallError
from shardkit.layouts import LAYOUTS
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.words import named
from shardkit.reject_reasons import NO_LABEL
from shardkit.sources.context import Opening
from shardkit.sources.folders.split_folders import splits_of
from shardkit.sources.folders.unsupported_formats import unsupported_format
from shardkit.sources.listing import (
    GROUP,
    LISTING_SCHEMA,
    BadRecord,
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    ending,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.tables.column_names import split_of_text
from shardkit.sources.unlisted_images import count_unlisted_images
from shardkit.sources.walking import children, files_below, folders_in
from shardkit.storage import Entry, Folder

_SPLIT, _GROUP = "split", "group"


@dataclass(frozen=True, slots=True)
class FileNames(Source):
    """A tree of images with labels in their names.

    Attributes:
        folder: Root of the source.
        pattern: Regular expression that is searched in the names.
        label_group: Number of the group that is the label.
        folder_splits: Names of the source's folders that are splits, and these splits.
        excluded: Path below the root that is not listed, because it is the output; None for none.
        left_out: Folders whose images have no labels: they are counted, not listed.
    """

    folder: Folder
    pattern: "re.Pattern[str]"
    label_group: int
    folder_splits: tuple[tuple[str, str], ...]
    excluded: str | None
    left_out: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return pa.schema([*LISTING_SCHEMA, GROUP]) if self._has_groups else LISTING_SCHEMA

    @property
    def _has_groups(self) -> bool:
        return _GROUP in self.pattern.groupindex

    layout = LAYOUTS["file-names"].title

    def describe(self) -> str:
        """See Source."""
        more = [f"the {name} by its group of that name" for name in (_SPLIT, _GROUP) if name in self.pattern.groupindex]
        if self.folder_splits and _SPLIT not in self.pattern.groupindex:
            more.append("the split from the first folder")
        more += [f"{printable(path)}/ left out, which has no labels" for path in self.left_out]
        pattern = self.pattern.pattern
        return ", ".join([f"{self.folder.url}: read as {self.layout}, the label by {pattern!r} in the name", *more])

    def parts(self) -> list[str]:
        """Return the source's folders, and '' for the files next to them."""
        return [*(name for name in folders_in(self.folder) if name != self.excluded), ""]

    def listed_folders(self, part: str) -> tuple[str]:
        """See Source."""
        return (part,)

    def sliceable_folder(self, part: str) -> str | None:
        """See Source; the part '' also counts the images of `left_out`, which must happen once."""
        return part if isinstance(part, str) and (part or not self.left_out) else None

    def list_part(self, part: str, batch_rows: int) -> Iterator[Listing]:
        """See Source; files sorted by name, folder by folder."""
        skipped: dict[str, int] = {}
        if not part:
            covered = () if self.excluded is None else (self.excluded,)
            skipped = count_unlisted_images(self.folder, "which has no labels", below=self.left_out, covered=covered)
        yield from batched(self.schema, self._rows(part, skipped), batch_rows, skipped)

    def _rows(self, part: str, skipped: dict[str, int]) -> Iterator[ListingRow]:
        folder_split = dict(self.folder_splits).get(part)
        for path, entry in self._files(part):
            kind = ending(entry.name)
            if kind not in IMAGE_ENDINGS:
                if problem := unsupported_format(path):
                    yield rejected_row(problem, folder_split, entry)
                else:
                    count_skipped(skipped, kind)
            elif problem := unicode_problem(path):
                yield rejected_row(problem, folder_split, entry)
            else:
                try:
                    label, split, group = self._read(entry.name, folder_split)
                except BadRecord as error:
                    yield rejected_row(RecordProblem(path, error.reason, str(error)), folder_split, entry)
                else:
                    extra = (group,) if self._has_groups else ()
                    yield ListingRow(path, split, label, entry.num_bytes, entry.mtime_ns, extra=extra)

    def _files(self, part: str) -> Iterator[tuple[str, Entry]]:
        if not part:
            yield from ((entry.name, entry) for entry in children(self.folder) if not entry.is_folder)
            return
        left_out = tuple(f"{path}/" for path in (self.excluded, *self.left_out) if path is not None)
        for path, entry in files_below(self.folder, part, (self.folder.resolve(""),)):
            if not path.startswith(left_out):
                yield path, entry

    def _read(self, name: str, folder_split: str | None) -> tuple[str, str | None, str | None]:
        """Return label, split and group from a file's name.

        Raises:
            BadRecord: NO_LABEL or BAD_SPLIT.
        """
        match = self.pattern.search(name)
        label = match[self.label_group] if match else None
        if match is None or not label:
            what = "the label's group is empty" if match else f"{printable(self.pattern.pattern)!r} is not found in it"
            raise BadRecord(
                NO_LABEL, f"the file's name has no label: {what}; correct `label_pattern`, or rename the file"
            )
        groups = match.groupdict()
        split = split_of_text(groups[_SPLIT]) if groups.get(_SPLIT) else folder_split
        return label, split, groups.get(_GROUP)


def open_file_names(opening: Opening) -> FileNames:
    """Open a source with labels in the names of its files.

    Raises:
        CallError: There is no `label_pattern`, or it is not a regular expression with a group for the label.
    """
    folder, excluded, options = opening.folder, opening.excluded, opening.options
    if options.label_pattern is None:
        msg = f"labels in file names need a regular expression; give one with {named('label_pattern')}"
        raise CallError(msg)
    try:
        pattern = re.compile(options.label_pattern)
    except re.error as error:
        place = "" if error.pos is None else f" at position {error.pos}"
        msg = (
            f"{named('label_pattern', options.label_pattern)} is not a regular expression: {error.msg}{place}; "
            "correct it"
        )
        raise CallError(msg) from error
    names = [name for name in folders_in(folder) if name != excluded]
    splits = splits_of(names)
    folder_splits = tuple(splits.items()) if len(splits) == len(names) else ()
    return FileNames(folder, pattern, _label_group(pattern), folder_splits, excluded)


def _label_group(pattern: "re.Pattern[str]") -> int:
    if "label" in pattern.groupindex:
        return pattern.groupindex["label"]
    others = {pattern.groupindex.get(name) for name in (_SPLIT, _GROUP)}
    number = next((i for i in range(1, pattern.groups + 1) if i not in others), None)
    if number is None:
        msg = f"{named('label_pattern', pattern.pattern)} has no group for the label; put the label in parentheses"
        raise CallError(msg)
    return number
