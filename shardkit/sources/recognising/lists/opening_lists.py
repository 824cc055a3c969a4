"""Open the layout `list`: a well-known dataset, the lists of a folder, or one list file.

Lists without labels next to class folders divide these: see `recognising.split_lists`.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import replace

from shardkit.errors import CallError, DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.values import Match
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.split_columns import split_of_file
from shardkit.sources.file_names import ending
from shardkit.sources.known.finding import find_known, open_known
from shardkit.sources.known.refused import refusal_of_known
from shardkit.sources.listing import Source
from shardkit.sources.readings.values import Column, Images, Labels, Listed, Reading
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.lists.class_names import find_class_names
from shardkit.sources.recognising.lists.list_files import (
    ListFile,
    find_forms,
    find_lists,
    label_part,
    unusual_labels,
)
from shardkit.sources.recognising.split_lists import several_lists, without_whole
from shardkit.sources.recognising.tables.layout import relative
from shardkit.sources.walking import children, folders_in, join
from shardkit.storage import Folder, open_folder

_LABELS = "labels"
_MAX_FOLDERS = 8  # folders that are searched for names of the classes
_TABLE = "write a CSV file with the header image,label"


def is_well_known(folder: Folder) -> bool:
    """Return whether a folder is a dataset that this package knows by its files."""
    return find_known(folder) is not None or refusal_of_known(folder) is not None or _has_lists_in_labels(folder)


def _has_lists_in_labels(folder: Folder) -> bool:
    """Return whether `labels/` has lists of splits that name images, and not YOLO's boxes."""
    paths = [join(_LABELS, entry.name) for entry in children(folder, _LABELS) if not entry.is_folder]
    first = next((path for path in paths if ending(path) == ".txt" and split_of_file(path)), None)
    return first is not None and bool(find_forms(folder, [first], ImageNames(folder, None)))


def is_lists(folder: Folder) -> bool:
    """Return whether a folder has lists that name its images and give them classes, judging by the first lines.

    Labels that only repeat folders are no news: such lists divide class folders, see `recognising.split_lists`.
    """
    return any(one.has_labels and not one.repeats_folders for one in find_lists(folder))


def open_lists(opening: Opening) -> Source:
    """Decide how to read a folder with lists, or one list file."""
    folder, options = opening.folder, opening.options
    known = find_known(folder) if opening.file is None else None
    if options.label_columns and known is None:
        msg = f"{named('label_columns')} has no effect on {opening.url}: it has one kind of label; leave the option out"
        raise CallError(msg)
    if opening.file is not None:
        return _open_list_file(opening, opening.file)
    if options.root is not None:
        msg = f"{named('root')} is for a list file as SOURCE; {folder.url} is a folder, whose lists are looked up in it"
        raise CallError(msg)
    if known is not None:
        return open_known(opening, known)
    if refusal := refusal_of_known(folder):
        raise refusal
    found = find_lists(folder, opening.excluded)
    if not found:
        msg = (
            f"{folder.url}: there is no list that names its images; a list is a .txt file with lines such as "
            "'cats/1.jpg 0' or 'cats/1.jpg', called train.txt and test.txt if there are several"
        )
        raise DataError(msg)
    return _opened(opening, folder, _one_for_each_split(opening, found))


def _open_list_file(opening: Opening, path: str) -> ReadingSource:
    lists, options = opening.folder, opening.options
    url = f"{lists.url}/{path}"
    folder = lists if options.root is None else open_folder(options.root)
    forms = find_forms(lists, [path], ImageNames(folder, opening.excluded), is_file=True)
    if not forms:
        msg = (
            f"{url}: its first lines name no image in {folder.url}, or several by one name; a line is a path, or a "
            f"path and a label, such as 'cats/1.jpg 0'; name the folder that the paths start at with {named('root')}"
        )
        raise DataError(msg)
    if options.layout is None and (what := unusual_labels(forms[0])):
        commands = [Change("each label is a class", {"layout": "list"}, sources=(url,))]
        if folder == lists:
            commands.insert(0, Change("each folder is a class", {"layout": "class-folders"}, sources=(folder.url,)))
        problem = f"{printable(url)}: its labels are {what}; these are probably not classes"
        raise RefusalError(problem, commands, remedy=_TABLE)
    return _opened(opening, folder, forms)


def _one_for_each_split(opening: Opening, found: Sequence[ListFile]) -> list[ListFile]:
    """Return a list for each split: one with labels, if there is one."""
    usual = without_whole({one.path: one.split for one in found})
    chosen = [one for one in found if one.path in usual]
    labelled = [one for one in chosen if one.has_labels]
    chosen = labelled + [one for one in chosen if one.split not in {other.split for other in labelled}]
    splits = [one.split for one in chosen]
    if len({*splits}) < len(splits):
        raise several_lists(opening, {one.path: one.split for one in found})
    return chosen


def _opened(opening: Opening, folder: Folder, forms: Sequence[ListFile]) -> ReadingSource:
    lists = opening.folder
    labels = {label for form in forms if form.has_labels for _, label in form.pairs()}
    part = None if all(form.has_labels for form in forms) else label_part(forms)
    file, first, left_out = "", 0, list[str]()
    if labels:
        places = [posixpath.dirname(forms[0].path), "", *folders_in(lists)[:_MAX_FOLDERS]]
        class_names, first, file = find_class_names(lists, places, labels)
        # places365_test.txt has no labels; neither has UCF101's testlist01.txt, whose images are in class folders.
        known = {*class_names} or labels
        kept = [
            form
            for form in forms
            if form.has_labels or (part is not None and {path.split("/")[part] for path, _ in form.pairs()} <= known)
        ]
        left_out = [form.path for form in forms if form not in kept]
        forms = kept
    elif part is None:
        names = " and ".join(printable(form.path) for form in forms)
        verb = "contains" if len(forms) == 1 else "contain"
        msg = f"{lists.url}: {names} {verb} no labels, and the folders of the images are no classes; {_TABLE}"
        raise DataError(msg)
    forms = [form if form.has_labels else replace(form, label_part=part) for form in forms]
    remark = "" if labels else "; the class is a folder of the path"
    remark += f"; left out {' and '.join(map(printable, left_out))}, without labels" if left_out else ""
    reading = _reading(lists, folder, forms, file, first if file else None)
    return open_reading(opening, reading, name=LAYOUTS["list"].title, is_strict=False, remark=remark)


def _reading(tree: Folder, folder: Folder, forms: Sequence[ListFile], names: str, first: int | None) -> Reading:
    """Return how lists are read: as tables of an image and its label, which a folder of its path may be."""
    files = tuple(form.path for form in forms)
    lines = {form.path: form.expression for form in forms}
    bases = {form.path: form.base for form in forms if any(one.base for one in forms)}
    if len({*lines.values()}) == 1:
        lines = {"*": forms[0].expression}
    # Without a match, all images are listed to find it.
    match: Match | None = "path" if all(form.is_exact for form in forms) else None
    origin = Column(("label",), files, ("image",), match=match, bases=bases, lines=lines)
    splits = {form.path: form.split for form in forms if form.split}
    split = Listed(splits) if len({*splits.values()}) > 1 else None
    images = Images(relative(tree, folder), unnamed="ignore")
    return Reading(images, Labels(origin, "class", names=names, first=first), split)
