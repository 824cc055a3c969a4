"""Labels in file names: ``SOURCE/cat_001.jpg`` with ``label_pattern='^([a-z]+)_'``.

The pattern is searched in the file's name, ending included, and not in its folders: ``^`` means the start of the name
wherever the file is, and class folders have a layout of their own. The group ``label`` is the class (without it, the
first group that has no other meaning), ``split`` is the split, and ``group`` names examples that stay in one split.
"""

import re
from dataclasses import dataclass, field

import pyarrow as pa

from shardkit.errors import CallError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.reject_reasons import NO_LABEL
from shardkit.sources.columns import GROUP, LISTING_SCHEMA
from shardkit.sources.context import Opening
from shardkit.sources.folders.image_tree import ImageTree
from shardkit.sources.folders.split_folders import splits_of
from shardkit.sources.listing import BadRecord, ListingRow
from shardkit.sources.tables.column_names import split_of_text
from shardkit.sources.walking import folders_in
from shardkit.storage import Entry

_SPLIT, _GROUP = "split", "group"


@dataclass(frozen=True, slots=True)
class FileNames(ImageTree):
    """A tree of images with labels in their names.

    Attributes:
        pattern: Regular expression that is searched in the names.
        label_group: Number of the group that is the label.
    """

    pattern: "re.Pattern[str]" = field(kw_only=True)
    label_group: int = field(kw_only=True)

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

    def row(self, path: str, entry: Entry, split: str | None) -> ListingRow:
        """See ImageTree."""
        label, split, group = self._read(entry.name, split)
        extra = (group,) if self._has_groups else ()
        return ListingRow(path, split, label, entry.num_bytes, entry.mtime_ns, extra=extra)

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
    return FileNames(folder, folder_splits, excluded, pattern=pattern, label_group=_label_group(pattern))


def _label_group(pattern: "re.Pattern[str]") -> int:
    if "label" in pattern.groupindex:
        return pattern.groupindex["label"]
    others = {pattern.groupindex.get(name) for name in (_SPLIT, _GROUP)}
    number = next((i for i in range(1, pattern.groups + 1) if i not in others), None)
    if number is None:
        msg = f"{named('label_pattern', pattern.pattern)} has no group for the label; put the label in parentheses"
        raise CallError(msg)
    return number
