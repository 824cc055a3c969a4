"""List class folders: ``<label>/**/image``, ``<split>/<label>/**/image`` and ``<label>/<split>/**/image``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, split_of_folder
from shardkit.options.words import named
from shardkit.reject_reasons import NO_LABEL
from shardkit.sources.context import Opening
from shardkit.sources.folders.image_tree import WITHOUT_LABELS, image_rows
from shardkit.sources.folders.split_folders import is_unlabelled, splits_of
from shardkit.sources.listing import (
    BadRecord,
    Listing,
    ListingRow,
    Source,
    batched,
    count_skipped,
    is_ignored,
)
from shardkit.sources.unlisted_images import count_unlisted_images
from shardkit.sources.walking import ancestors, are_of_dataset, children, is_dataset, join
from shardkit.storage import Entry, Folder, os_errors_as

_MISPLACED = "the image lies outside every label folder; move it into one"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the source: a folder, and the split and label of its images."""

    path: str
    split: str | None
    label_name: str | None
    recursive: bool


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The part that counts the images of folders without labels.

    Attributes:
        paths: The folders.
    """

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelRoot:
    """A folder whose children are label folders.

    Attributes:
        path: The folder; '' for the source itself.
        split: The split of all images below it; None if the source gives none.
    """

    path: str
    split: str | None


PLAIN = (LabelRoot("", None),)


@dataclass(frozen=True, slots=True)
class NamedFolder:
    """A label folder whose name is not the label: ``cats_train``, or one that other splits have under a shorter name.

    Attributes:
        path: The folder.
        split: The split of its images; None for that of the folder around it.
        label_name: Their label.
    """

    path: str
    split: str | None
    label_name: str


@dataclass(frozen=True, slots=True)
class ClassFolders(Source):
    """A tree in which the name of a folder is the label.

    Attributes:
        folder: Root of the source.
        roots: The folders whose children are the label folders.
        excluded: Path below the root that is not listed, because it is the output; None for none.
        remark: What the user should know about how the tree was read; '' for nothing.
        left_out: Folders whose images have no labels: they are counted, not listed.
        unused: Other folders next to `roots`: images in them are rejected.
        between: Folders above `roots`, below the source or its splits: images in them have no label.
        level: Level of the label folders below the source or its splits, from 1.
        splits_below: Whether the folders in each label folder are the splits.
        skips_unlabelled: Whether label folders called ``unlabeled`` and the like are left out, too.
        named: Label folders whose names are not the labels.
    """

    folder: Folder
    roots: tuple[LabelRoot, ...] = PLAIN
    excluded: str | None = None
    remark: str = ""
    left_out: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    between: tuple[LabelRoot, ...] = ()
    level: int = 1
    splits_below: bool = False
    skips_unlabelled: bool = False
    named: tuple[NamedFolder, ...] = ()

    @property
    def with_splits(self) -> bool:
        """Whether folders give the splits."""
        return self.splits_below or any(one.split for one in self.roots) or any(one.split for one in self.named)

    @property
    def layout(self) -> str:
        """See Source."""
        plain, with_splits = LAYOUTS["class-folders"].titles
        return with_splits if self.with_splits else plain

    @property
    def label_files(self) -> tuple[str, ...]:
        """See Source."""
        return ()

    @property
    def takes_splits(self) -> bool:
        """See Source."""
        return not self.with_splits

    def describe(self) -> str:
        """See Source."""
        label = "<folder>/" * (self.level - 1) + "<label>"
        levels = "<label>/<split>" if self.splits_below else f"<split>/{label}" if self.with_splits else label
        if any(one.split for one in self.named):
            levels = "<label and split>"
        return f"{self.folder.url}: read as {levels}/…/image{self.remark}"

    def parts(self) -> list[Part | LeftOut]:
        """Return one part for each label folder, one for the images next to these folders, one for unlabelled ones."""
        parts: list[Part | LeftOut] = []
        left_out = list(self.left_out)
        named = {one.path: one for one in self.named}
        for root in self.roots:
            for name in label_folders(self.folder, root.path, self.excluded):
                path = join(root.path, name)
                if self.skips_unlabelled and is_unlabelled(name):
                    left_out.append(path)
                elif self.splits_below:
                    parts += self._splits_in(path, name)
                elif one := named.get(path):
                    parts.append(Part(path, one.split or root.split, one.label_name, recursive=True))
                else:
                    parts.append(Part(path, root.split, name, recursive=True))
            parts.append(Part(root.path, root.split, None, recursive=False))
        parts += [Part(path, None, None, recursive=True) for path in self.unused]
        parts += [Part(root.path, root.split, None, recursive=False) for root in self.between]
        if all(root.path for root in self.roots):
            parts.append(Part("", None, None, recursive=False))
        return [*parts, LeftOut(tuple(left_out))] if left_out else parts

    def _splits_in(self, path: str, label: str) -> list[Part]:
        names = label_folders(self.folder, path, self.excluded)
        splits = splits_of(names)
        parts = [Part(join(path, name), splits.get(name), label, recursive=True) for name in names]
        return [*parts, Part(path, None, label, recursive=False)]

    def listed_folders(self, part: Part | LeftOut) -> tuple[str, ...]:
        """See Source."""
        return () if isinstance(part, LeftOut) else (part.path,)

    def sliceable_folder(self, part: Part | LeftOut) -> str | None:
        """See Source."""
        return part.path if isinstance(part, Part) and part.recursive and part.label_name is not None else None

    def list_part(self, part: Part | LeftOut, batch_rows: int) -> Iterator[Listing]:
        """See Source; files sorted by path, folder by folder."""
        if isinstance(part, LeftOut):
            counts = count_unlisted_images(self.folder, WITHOUT_LABELS, below=part.paths, covered=self._covered)
            yield from batched(self.schema, (), batch_rows, counts)
            return
        skipped: dict[str, int] = {}
        yield from batched(self.schema, self._rows(part, skipped), batch_rows, skipped)

    @property
    def _covered(self) -> tuple[str, ...]:
        return () if self.excluded is None else (self.excluded,)

    def _rows(self, part: Part, skipped: dict[str, int]) -> Iterator[ListingRow]:
        is_empty = True
        for row in self._files_as_rows(part, skipped):
            is_empty = False
            yield row
        if is_empty and part.recursive and part.label_name is not None:
            count_skipped(skipped, f"label folder {printable(part.path)}/ without an image")

    def _files_as_rows(self, part: Part, skipped: dict[str, int]) -> Iterator[ListingRow]:
        def row(path: str, entry: Entry) -> ListingRow:
            if part.label_name is None:
                raise BadRecord(NO_LABEL, _MISPLACED)
            return ListingRow(path, part.split, part.label_name, entry.num_bytes, entry.mtime_ns)

        above = tuple(self.folder.resolve(one) for one in ancestors(part.path))
        files = self._files(part.path, part.recursive, above)
        return image_rows(files, part.split, row, skipped, rejects_others=part.label_name is not None)

    def _files(self, path: str, recursive: bool, above: tuple[str, ...]) -> Iterator[tuple[str, Entry]]:  # noqa: FBT001
        here = self.folder.resolve(path)
        if here in above:
            return  # a symbolic link to a folder above: its files are listed already
        folders = []
        prefix = f"{path}/" if path else ""
        with os_errors_as("list the folder", self.folder.url_of(path)):
            entries = self.folder.scan(path)
        if are_of_dataset(entries):
            return  # a dataset that was written into a folder of the source earlier
        for entry in entries:
            if is_ignored(entry.name):
                continue
            if entry.is_folder:
                folders.append(entry.name)
            else:
                yield prefix + entry.name, entry
        if recursive:
            for name in folders:
                if prefix + name != self.excluded:
                    yield from self._files(prefix + name, recursive, (*above, here))


def label_folders(folder: Folder, path: str, excluded: str | None) -> list[str]:
    """Return the names of the folders in a folder that may be labels or splits.

    The output, and datasets that were written into the source's root, are neither.

    Args:
        folder: Root of the source.
        path: The folder.
        excluded: Path of the output; None for none.

    Raises:
        MachineError: The folder cannot be listed.
    """
    names = [entry.name for entry in children(folder, path) if entry.is_folder]
    return [name for name in names if join(path, name) != excluded and (path or not is_dataset(folder, name))]


def open_class_folders(opening: Opening) -> ClassFolders:
    """Return the class folders that ``layout=class-folders`` means: each folder is a class, or an exact split.

    Raises:
        DataError: There is no label folder, or none at `class_level`.
    """
    folder, excluded, level = opening.folder, opening.excluded, opening.options.class_level
    found = _classes_or_splits(folder, excluded)
    roots = found.roots
    between: list[LabelRoot] = []
    for _ in range(level - 1):
        inner = {root: label_folders(folder, root.path, excluded) for root in roots}
        between += [root for root in roots if root.path]
        roots = tuple(LabelRoot(join(root.path, name), root.split) for root, names in inner.items() for name in names)
    if level == 1:
        return found
    if not any(label_folders(folder, root.path, excluded) for root in roots):
        msg = f"{folder.url}: there are no folders at level {level} of the tree, as {named('class_level', level)} says"
        raise DataError(msg)
    return replace(found, roots=roots, between=tuple(between), level=level)


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


def named_remark(named: Sequence[NamedFolder]) -> str:
    """Return the note that folders are read as other classes than their names say; '' for none."""
    if not named:
        return ""
    first = named[0]
    more = f", and {len(named) - 1} more like it" if len(named) > 1 else ""
    split = f" in {first.split}" if first.split else ""
    return f"; note: {printable(first.path)}/ is read as the class {first.label_name!r}{split}{more}"


def unlabelled_remark(paths: Sequence[str]) -> str:
    """Return the notes that folders are left out; '' for none."""
    return "".join(f"; note: {printable(path)}/ is left out, as images without labels" for path in paths)


def read_as_classes(as_labels: list[str], names: list[str]) -> str:
    """Return the note that folders with names of splits are read as classes; '' if there are none."""
    if not as_labels:
        return ""
    others = [name for name in names if name not in as_labels]
    is_one = len(as_labels) == 1
    it, are = ("it", "is read as a class, not as a split") if is_one else ("them", "are read as classes, not as splits")
    why = f"{others[0]!r} is next to {it}" if others else "there are no label folders in " + it
    return f"; note: {', '.join(map(repr, as_labels))} {are}, because {why}"
