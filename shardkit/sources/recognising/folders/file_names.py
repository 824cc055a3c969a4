"""Labels in file names: ``SOURCE/cat_001.jpg`` with ``label_pattern='^([a-z]+)_'``.

The pattern is searched in the file's name, ending included, and not in its folders: ``^`` means the start of the name
wherever the file is, and class folders have a layout of their own. The group ``label`` is the class (without it, the
first group that has no other meaning), ``split`` is the split, and ``group`` names examples that stay in one split.
"""

import re
from dataclasses import dataclass

from shardkit.errors import CallError
from shardkit.layouts import LAYOUTS
from shardkit.options.words import named
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.options import Opening
from shardkit.sources.readings.values import Images, Labels, Origin, PathRegex, Reading
from shardkit.sources.recognising.folders.class_folders import with_words
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.sources.walking import folders_in

_SPLIT, _GROUP = "split", "group"


@dataclass(frozen=True, slots=True)
class FileNames:
    """A tree of images with labels in their names."""

    pattern: "re.Pattern[str]"  # regular expression that is searched in the names
    label_group: int  # number of the group that is the label
    folder_splits: tuple[tuple[str, str], ...] = ()  # names of the source's folders that are splits, and these splits
    left_out: tuple[str, ...] = ()  # folders whose images have no labels

    def source(self, opening: Opening) -> ReadingSource:
        """Return the source of the tree, which is that of an opening."""
        regex, groups = self.pattern.pattern, self.pattern.groupindex
        number = groups.get("label") == self.label_group
        label = PathRegex(regex, "label" if number else self.label_group)
        split: Origin | None = PathRegex(regex, _SPLIT) if _SPLIT in groups else None
        if split is None and self.folder_splits:
            split = with_words(0, dict(self.folder_splits))
        group = PathRegex(regex, _GROUP) if _GROUP in groups else None
        images = Images(exclude=tuple(f"/{path}/" for path in self.left_out))
        reading = Reading(images, Labels(label, "class"), split, group)
        return open_reading(opening, reading, name=LAYOUTS["file-names"].title, is_strict=False)


def open_file_names(opening: Opening) -> ReadingSource:
    """Open a source with labels in the names of its files."""
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
    return FileNames(pattern, _label_group(pattern), folder_splits).source(opening)


def _label_group(pattern: "re.Pattern[str]") -> int:
    if "label" in pattern.groupindex:
        return pattern.groupindex["label"]
    others = {pattern.groupindex.get(name) for name in (_SPLIT, _GROUP)}
    number = next((i for i in range(1, pattern.groups + 1) if i not in others), None)
    if number is None:
        msg = f"{named('label_pattern', pattern.pattern)} has no group for the label; put the label in parentheses"
        raise CallError(msg)
    return number
