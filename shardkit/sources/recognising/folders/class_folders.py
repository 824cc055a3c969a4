"""List class folders: ``<label>/**/image``, ``<split>/<label>/**/image`` and ``<label>/<split>/**/image``."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, split_of_folder
from shardkit.options.words import named
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.splits import split_of_name
from shardkit.sources.options import Opening
from shardkit.sources.readings.values import Images, Labels, PathPart, PathRegex, Reading
from shardkit.sources.recognising.class_names import find_names_file
from shardkit.sources.recognising.folders.first_images import MAX_DEPTH, has_images
from shardkit.sources.recognising.folders.split_folders import is_unlabelled, says_nothing, splits_of
from shardkit.sources.walking import ancestors, children, is_dataset, join
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class LabelRoot:
    """A folder whose children are label folders."""

    path: str  # the folder; '' for the source itself
    split: str | None  # the split of all images below it; None if the source gives none


PLAIN = (LabelRoot("", None),)


@dataclass(frozen=True, slots=True)
class ClassFolders:
    """A tree in which the name of a folder is the label."""

    folder: Folder  # root of the source
    roots: tuple[LabelRoot, ...] = PLAIN  # the folders whose children are the label folders
    excluded: str | None = None  # path below the root that is not listed, because it is the output; None for none
    remark: str = ""  # what the user should know about how the tree was read; '' for nothing
    left_out: tuple[str, ...] = ()  # folders whose images have no labels: they are counted, not listed
    splits_below: bool = False  # whether the folders in each label folder are the splits

    def source(self, opening: Opening) -> ReadingSource:
        """Return the source of the tree, which is that of an opening."""
        reading = self.reading()
        title = LAYOUTS["class-folders"].titles[reading.split is not None]
        remark = self.remark + self._unused_names(reading)
        return open_reading(opening, reading, name=title, is_strict=False, remark=remark)

    def _unused_names(self, reading: Reading) -> str:
        """Return the note that a file names the numbers that the label folders are called; '' for none."""
        numbers = {name for root in self.roots for name in self._inner(root.path)}
        if len(numbers) < 2 or not all(one.isdecimal() and one.isascii() for one in numbers):
            return ""
        try:
            path, first = find_names_file(self.folder, numbers)
        except DataError as error:
            return f"; note: not used: {error}"
        if not path or reading.label is None or not isinstance(reading.label.origin, PathPart):
            return ""
        origin = f"path: {reading.label.origin.path}, names: {path}" + (
            f", first: {first}" if first is not None else ""
        )
        use = f"`label: {{{origin}}}` in a reading uses it"
        return f"; note: {printable(path)} names the numbers of the folders, and is not used; {use}"

    def reading(self) -> Reading:
        """Return how the tree is read."""
        depths = {len(_parts(root.path)) for root in self.roots}
        label = self._label(depths)
        outside = [f"/{path}/" for path in (*self.left_out, *self._outside())]
        return Reading(Images(exclude=tuple(dict.fromkeys(outside))), Labels(label, "class"), self._split(label))

    def _label(self, depths: set[int]) -> PathPart | PathRegex:
        if len(depths) == 1:
            return PathPart(depths.pop())
        return PathRegex(f"^(?:{'|'.join(re.escape(root.path) for root in self.roots)})/([^/]+)/", 1, "path")

    def _split(self, label: PathPart | PathRegex) -> PathPart | None:
        if self.splits_below and isinstance(label, PathPart):
            inner = [name for one in label_folders(self.folder, "", self.excluded) for name in self._inner(one)]
            return with_words(label.path + 1, {name: splits_of([name]).get(name) for name in dict.fromkeys(inner)})
        if not any(root.split for root in self.roots):
            return None
        splits = {(_parts(root.path)[0]): root.split for root in self.roots}
        return with_words(0, splits)

    def _inner(self, path: str) -> list[str]:
        return label_folders(self.folder, path, self.excluded)

    def _outside(self) -> Iterator[str]:
        """Yield folders that hold no examples: next to those that lead to the labels, and unlabelled ones."""
        leading = {above for root in self.roots for above in (*ancestors(root.path), root.path)}
        roots = {root.path for root in self.roots}
        for path in sorted(leading - roots):
            for name in self._inner(path):
                inner = join(path, name)
                if inner not in leading:
                    yield inner


def _parts(path: str) -> list[str]:
    return path.split("/") if path else []


def with_words(index: int, splits: Mapping[str, str | None]) -> PathPart:
    """Return the splits of folders; without a map if all names are words for their splits."""
    are_words = all(split and split_of_folder(name) == split for name, split in splits.items())
    return PathPart(index, {} if are_words else dict(sorted(splits.items())))


def label_folders(folder: Folder, path: str, excluded: str | None) -> list[str]:
    """Return the names of the folders in a folder that may be labels or splits.

    The output, and datasets that were written into the source's root, are neither.
    """
    names = [entry.name for entry in children(folder, path) if entry.is_folder]
    return [name for name in names if join(path, name) != excluded and (path or not is_dataset(folder, name))]


def innermost(folder: Folder, path: str, excluded: str | None, *, of_split: bool = False) -> str:
    """Return the first folder in a folder that holds images or several folders.

    The only folder in that of a split may be a class, and is passed only if its name says that it is none, as in
    train/train/ and train/images/.
    """
    for _ in range(MAX_DEPTH):
        names = label_folders(folder, path, excluded)
        if len(names) != 1 or has_images(folder, path):
            break
        if of_split and not _is_wrapper(names[0], posixpath.basename(path)):
            break
        path = join(path, names[0])
    return path


def _is_wrapper(name: str, outer: str) -> bool:
    is_same = name.lower() == outer.lower() or split_of_name(name) == split_of_name(outer) is not None
    return is_same or says_nothing(name) or is_unlabelled(name)


def open_class_folders(opening: Opening) -> ReadingSource:
    """Open the class folders that ``layout=class-folders`` means: each folder is a class, or an exact split."""
    folder, excluded, level = opening.folder, opening.excluded, opening.options.class_level
    found = _classes_or_splits(folder, excluded)
    roots = found.roots
    for _ in range(level - 1):
        inner = {root: label_folders(folder, root.path, excluded) for root in roots}
        roots = tuple(LabelRoot(join(root.path, name), root.split) for root, names in inner.items() for name in names)
    if level > 1 and not any(label_folders(folder, root.path, excluded) for root in roots):
        msg = f"{folder.url}: there are no folders at level {level} of the tree, as {named('class_level', level)} says"
        raise DataError(msg)
    return replace(found, roots=roots).source(opening)


def _classes_or_splits(folder: Folder, excluded: str | None) -> ClassFolders:
    names = label_folders(folder, "", excluded)
    if not names:
        msg = (
            f"{folder.url}: there are no label folders; "
            "shardkit reads SOURCE/<label>/image or SOURCE/<split>/<label>/image, one folder a label"
        )
        raise DataError(msg)
    exact = {name: split for name in names if (split := split_of_folder(name))}
    if len(exact) == len(names) and any(label_folders(folder, name, excluded) for name in names):
        # Images to train on without labels are a mistake, those of a test are usual.
        bare = [name for name in names if exact[name] != "train" and not label_folders(folder, name, excluded)]
        roots = tuple(LabelRoot(name, split) for name, split in exact.items() if name not in bare)
        return ClassFolders(folder, roots, excluded, unlabelled_remark(bare), tuple(bare))
    return ClassFolders(folder, excluded=excluded, remark=read_as_classes(list(exact), names))


def unlabelled_remark(paths: Sequence[str]) -> str:
    """Return the remarks that folders are left out; '' for none."""
    return "".join(f"; {printable(path)}/ is left out, as images without labels" for path in paths)


def read_as_classes(as_labels: list[str], names: list[str]) -> str:
    """Return the note that folders with names of splits are read as classes; '' if there are none."""
    if not as_labels:
        return ""
    others = [name for name in names if name not in as_labels]
    is_one = len(as_labels) == 1
    it, are = ("it", "is read as a class, not as a split") if is_one else ("them", "are read as classes, not as splits")
    why = f"{others[0]!r} is next to {it}" if others else "there are no label folders in " + it
    return f"; note: {', '.join(map(repr, as_labels))} {are}, because {why}"
