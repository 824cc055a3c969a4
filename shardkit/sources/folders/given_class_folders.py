"""Read class folders as the user says: which level of folders the classes are."""

from dataclasses import replace

from shardkit.errors import DataError
from shardkit.naming import split_of_folder
from shardkit.options.words import named
from shardkit.sources.context import Opening
from shardkit.sources.folders.class_folders import ClassFolders, LabelRoot, label_folders
from shardkit.sources.walking import join
from shardkit.storage import Folder


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
        return ClassFolders(folder, tuple(LabelRoot(*one) for one in exact.items()), excluded)
    return ClassFolders(folder, excluded=excluded, remark=read_as_classes(list(exact), names))


def read_as_classes(as_labels: list[str], names: list[str]) -> str:
    """Return the note that folders with names of splits are read as classes; '' if there are none."""
    if not as_labels:
        return ""
    others = [name for name in names if name not in as_labels]
    is_one = len(as_labels) == 1
    it, are = ("it", "is read as a class, not as a split") if is_one else ("them", "are read as classes, not as splits")
    why = f"{others[0]!r} is next to {it}" if others else "there are no label folders in " + it
    return f"; note: {', '.join(map(repr, as_labels))} {are}, because {why}"
