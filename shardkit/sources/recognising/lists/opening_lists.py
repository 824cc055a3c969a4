"""Open the layout `list`: a well-known dataset, the lists of a folder, or one list file."""

import posixpath
from collections import Counter
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
from shardkit.sources.known.finding import find_known, open_known
from shardkit.sources.known.refused import refusal_of_known
from shardkit.sources.listing import Source
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.values import Column, Images, Labels, Listed, Reading
from shardkit.sources.recognising.lists.class_names import find_class_names
from shardkit.sources.recognising.lists.finding import (
    FoundList,
    bases_for,
    find_lists,
    has_lists_in_labels,
    split_of_list,
    without_whole_lists,
)
from shardkit.sources.recognising.lists.list_files import ListFile, are_letters, label_part, names_masks, unusual_labels
from shardkit.sources.recognising.lists.list_forms import find_form
from shardkit.sources.recognising.tables.layout import relative
from shardkit.sources.walking import folders_in, join
from shardkit.storage import Folder, open_folder

_MAX_FOLDS = 3  # folds that a refusal names
_MAX_GLOBS = 4  # files that a command leaves out one by one
_MAX_FOLDERS = 8  # folders that are searched for names of the classes
_MIN_LINES = 20  # below, labels need not repeat
_MIN_NUMBERED = 3
_MAX_DISTINCT = 0.9  # of the lines: above, labels are captions or names
_TABLE = "write a CSV file with the header image,label"


def is_well_known(folder: Folder) -> bool:
    """Return whether a folder is a dataset that this package knows by its files."""
    return find_known(folder) is not None or refusal_of_known(folder) is not None or has_lists_in_labels(folder)


def is_lists(folder: Folder) -> bool:
    """Return whether a folder has lists that name its images and give them classes, judging by the first lines."""
    found = find_lists(folder)
    if not any(one.form.has_labels for one in found):
        return bool(found) and label_part([one.form for one in found]) is not None
    return True


def open_lists(opening: Opening) -> Source:
    """Decide how to read a folder with lists, or one list file."""
    folder, options = opening.folder, opening.options
    if opening.file is not None:
        return _open_list_file(opening, opening.file)
    if options.root is not None:
        msg = f"{named('root')} is for a list file as SOURCE; {folder.url} is a folder, whose lists are looked up in it"
        raise CallError(msg)
    if known := open_known(opening):
        return known
    if refusal := refusal_of_known(folder):
        raise refusal
    found = find_lists(folder)
    if not found:
        msg = (
            f"{folder.url}: there is no list that names its images; a list is a .txt file with lines such as "
            "'cats/1.jpg 0' or 'cats/1.jpg', called train.txt and test.txt if there are several"
        )
        raise DataError(msg)
    lists = _one_per_split(folder, without_whole_lists(_one_kind(folder, found, options)), options)
    several = len({one.split for one in lists}) > 1
    forms = [replace(one.form, split=one.split if several else None) for one in lists]
    return _opened(opening, folder, forms)


def _open_list_file(opening: Opening, path: str) -> ReadingSource:
    lists, options = opening.folder, opening.options
    if options.label_columns:
        raise _useless_label_column(f"{lists.url}/{path}")
    folder = lists if options.root is None else open_folder(options.root)
    form = find_form(folder, lists, path, bases_for(folder, "", split_of_list(path)))
    if form is None:
        msg = (
            f"{lists.url}/{path}: its first lines name no image in {folder.url}; a line is a path, or a path and a "
            f"label, such as 'cats/1.jpg 0'; name the folder that the paths start at with {named('root')}"
        )
        raise DataError(msg)
    if names_masks(form):
        msg = (
            f"{lists.url}/{path}: it pairs images with masks; give their folder as SOURCE, with "
            f"{named('layout', 'masks')}"
        )
        raise DataError(msg)
    return _opened(opening, folder, [form])


def _useless_label_column(name: str) -> CallError:
    return CallError(
        f"{named('label_columns')} has no effect on {name}: it has one kind of label; leave the option out"
    )


def _opened(opening: Opening, folder: Folder, forms: Sequence[ListFile]) -> ReadingSource:
    lists, options = opening.folder, opening.options
    names = " and ".join(printable(form.path) for form in forms)
    for form in forms:
        if options.layout is None and (what := unusual_labels(form)):
            raise _no_classes(folder, form, f"its labels are {what}")
    part = label_part(forms) if not all(form.has_labels for form in forms) else None
    file, first, left_out = "", 0, list[str]()
    counts = Counter(label for form in forms if form.has_labels for label in form.labels())
    labels = set(counts)
    # What is before a path may be the image's number.
    min_lines = _MIN_NUMBERED if any(form.shape == "front" for form in forms) else _MIN_LINES
    if counts.total() >= min_lines and len(labels) > _MAX_DISTINCT * counts.total() and options.layout is None:
        raise _no_classes(folder, forms[0], f"there are {len(labels):,} different labels in {counts.total():,} lines")
    if labels:
        places = [posixpath.dirname(forms[0].path), "", *folders_in(lists)[:_MAX_FOLDERS]]
        class_names, first, file = find_class_names(lists, places, labels)
        kept = _with_labels(forms, part, {*class_names} or labels)
        left_out = [form.path for form in forms if form not in kept]
        forms = kept
    elif part is None:
        msg = f"{lists.url}: {_lack_labels(names, forms)}, and all images are in one folder; {_TABLE}"
        raise DataError(msg)
    if not labels and part is not None and are_letters(forms, part):
        msg = f"{lists.url}: {_lack_labels(names, forms)}, and the image folders are only first letters; {_TABLE}"
        raise DataError(msg)
    forms = [form if form.has_labels else replace(form, label_part=part) for form in forms]
    remark = "" if labels else "; the class is a folder of the path"
    remark += f"; left out {' and '.join(map(printable, left_out))}, without labels" if left_out else ""
    reading = _reading(opening.folder, folder, forms, file, first if file else None)
    return open_reading(opening, reading, name=LAYOUTS["list"].title, is_strict=False, remark=remark)


def _reading(tree: Folder, folder: Folder, forms: Sequence[ListFile], names: str, first: int | None) -> Reading:
    """Return how lists are read: as tables of an image and its label, which a folder of its path may be."""
    files = tuple(form.path for form in forms)
    lines = {form.path: form.expression for form in forms}
    bases = {form.path: form.base for form in forms}
    base = ""
    if len({*lines.values()}) == 1:
        lines = {"*": forms[0].expression}
    if len({*bases.values()}) == 1:
        base, bases = forms[0].base, {}
    match: Match = "end" if any(form.by_name for form in forms) else "path"
    origin = Column(("label",), files, ("image",), match=match, base=base, bases=bases, lines=lines)
    split = Listed({form.path: form.split for form in forms if form.split})
    images = Images(relative(tree, folder), unnamed="ignore")
    return Reading(images, Labels(origin, "class", names=names, first=first), split if split.lists else None)


def _lack_labels(names: str, forms: Sequence[ListFile]) -> str:
    return f"{names} {'contains' if len(forms) == 1 else 'contain'} no labels"


def _no_classes(folder: Folder, form: ListFile, what: str) -> CallError:
    commands = [Change("each label is a class", {"layout": "list"}, sources=(join(form.folder.url, form.path),))]
    if folder == form.folder:
        commands.insert(0, Change("each folder is a class", {"layout": "class-folders"}, sources=(folder.url,)))
    problem = f"{printable(form.folder.url)}/{form.path}: {what}; these are probably not classes"
    return RefusalError(problem, commands, remedy=_TABLE)


def _with_labels(forms: Sequence[ListFile], part: int | None, known: set[str]) -> list[ListFile]:
    """Return the lists without those that lack labels, unless folders called as the classes give them.

    places365_test.txt has no labels; neither has UCF101's testlist01.txt, whose images are in class folders.
    """
    return [form for form in forms if form.has_labels or {key.split("/")[part or 0] for key in form.images()} <= known]


def _one_kind(folder: Folder, found: Sequence[FoundList], options: SourceOptions) -> list[FoundList]:
    """Return the lists of one kind: FGVC-Aircraft has images_variant_train.txt and images_family_train.txt."""
    without: list[FoundList] = []
    if any(one.form.has_labels for one in found):
        found, without = (
            [one for one in found if one.form.has_labels],
            [one for one in found if not one.form.has_labels],
        )
    families = dict.fromkeys(one.family for one in found)
    words = {family: _word_of(family, families) for family in families}
    if options.label_columns:
        wanted = options.label_columns[0]
        chosen = [one for one in found if words[one.family] == wanted]
        if len(options.label_columns) == 1 and chosen:
            return chosen + _of_other_splits(without, chosen)
        msg = f"{folder.url}: there are no lists of {wanted!r}; there are {', '.join(map(repr, words.values()))}"
        raise CallError(msg)
    by_split = {(one.word, one.rest) for one in found}
    if len(by_split) == len(found):  # places365_train_standard.txt and places365_val.txt are of one kind
        return [*found, *_of_other_splits(without, found)]
    paths = ", ".join(printable(one.form.path) for one in found[:4])
    commands = [
        Change(f"the labels of {family}*.txt", {"layout": "list", "label_columns": (word,)}, sources=(folder.url,))
        for family, word in words.items()
    ]
    raise RefusalError(f"{printable(folder.url)}: it has lists of several kinds of labels ({paths}, …)", commands)


def _folds(folder: Folder, found: Sequence[FoundList], options: SourceOptions) -> list[Change]:
    """Return the calls that read the lists of one fold, and that without any list."""
    folds: dict[tuple[str, str], list[str]] = {}
    for one in found:
        folds.setdefault((one.family, one.rest), []).append(one.form.path)
    commands = []
    for paths in [*folds.values()][:_MAX_FOLDS]:
        others = tuple(f"/{one.form.path}" for one in found if one.form.path not in paths)
        changed = {"ignore": (*options.ignore, *_shortened(others, paths))}
        commands.append(Change(f"the splits of {' and '.join(paths)}", changed, sources=(folder.url,)))
    every = tuple(f"/{one.form.path}" for one in found)
    without = {"ignore": (*options.ignore, *_shortened(every, []))}
    return [*commands, Change("all images by folder, without these splits", without, sources=(folder.url,))]


def _shortened(paths: tuple[str, ...], kept: Sequence[str]) -> tuple[str, ...]:
    """Return globs that match some paths and none that is kept: a glob of the last characters for many of them."""
    stems = [posixpath.splitext(path)[0] for path in kept]
    ends = {stem[-1:] for stem in stems}
    places = {posixpath.split(path)[0] + "/*" for path in paths}
    kinds = {posixpath.splitext(path)[1] for path in paths}
    if len(paths) <= _MAX_GLOBS or len(places) > 1 or len(kinds) > 1:
        return paths
    [place], [kind] = places, kinds
    if not kept:
        return (f"{place}{kind}",)
    is_plain = len(ends) == 1 and all(posixpath.splitext(path)[0][-1:] not in ends for path in paths)
    return (f"{place}[!{ends.pop()}]{kind}",) if is_plain else paths


def _of_other_splits(without: Sequence[FoundList], chosen: Sequence[FoundList]) -> list[FoundList]:
    splits = {one.split for one in chosen}
    return [one for one in without if one.split not in splits]


def _word_of(family: str, families: Sequence[str] | dict[str, None]) -> str:
    """Return the words of a family's name that are not in all families' names."""
    words = [set(one.replace("-", "_").split("_")) for one in families]
    common = set.intersection(*words) if len(words) > 1 else set()
    own = [word for word in family.replace("-", "_").split("_") if word and word not in common]
    return "_".join(own) or family.strip("_-")


def _one_per_split(folder: Folder, found: list[FoundList], options: SourceOptions) -> list[FoundList]:
    """Refuse folds, and lists that leave out the training images."""
    splits = [one.split for one in found]
    if twice := next((split for split in splits if splits.count(split) > 1), None):
        paths = [printable(one.form.path) for one in found if one.split == twice]
        problem = f"{printable(folder.url)}: {len(paths)} lists are for {twice}, such as {paths[0]} and {paths[1]}"
        raise RefusalError(problem, _folds(folder, found, options))
    if options.layout is None and found[0].word and "train" not in splits:
        names = " and ".join(printable(one.form.path) for one in found)
        commands = [
            Change(
                f"all images by folder, without {names}",
                {"layout": "class-folders", "ignore": (*options.ignore, *(f"/{one.form.path}" for one in found))},
                sources=(folder.url,),
            ),
            Change("only the images of these lists", {"layout": "list"}, sources=(folder.url,)),
        ]
        raise RefusalError(f"{printable(folder.url)}: {names} has no list of training images next to it", commands)
    return found
