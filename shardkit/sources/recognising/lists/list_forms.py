"""Find out how a list file is to be read.

Nothing in such a file says where the path ends and which folder it starts in, so both are decided by which reading
names images that exist.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import NamedTuple

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.engine.lookup import NameResolver
from shardkit.sources.formats.list_fields import read_fields
from shardkit.sources.listing import BadRecord
from shardkit.sources.recognising.lists.list_files import ListFile, Shape, divide
from shardkit.sources.walking import file_or_folder, is_image, join
from shardkit.storage import Folder

_SAMPLE = 200  # lines by which the form of a list is decided
_LOOKED_UP = 8  # of these, those whose images are looked up
_MAX_SHOWN = 3  # folders that a refusal names
_MAX_DROPPED = 6  # leading folders of a path that may be of the computer the list was written on
_SEPARATORS = ("\t", ",", ";", None)  # None: blanks


class Bases(NamedTuple):
    """Folders that paths of a list may start at.

    Attributes:
        own: The list's folder and the source's folder.
        of_split: Other folders whose names mean the list's split.
        others: All other folders.
    """

    own: list[str]
    of_split: list[str]
    others: list[str]


def find_form(
    folder: Folder, lists: Folder, path: str, bases: Bases, *, needs_endings: bool = False
) -> ListFile | None:
    """Return how to read a list; None if no reading names images that exist.

    With `needs_endings`, a list is accepted only if its paths end as images do.
    """
    fields = islice(read_fields(lists, path, "\n"), _SAMPLE)
    sample = [one.values[0] for one in fields if not one.problem and not one.values[0].startswith("#")]
    if not sample:
        return None
    names = NameResolver(folder)
    # Paths without endings come last: the label 1 may be the name of 1.jpg.
    for by_name in [False] if needs_endings else [False, True]:
        for dropped, (shape, separator) in product(range(_MAX_DROPPED + 1), _shapes(sample)):
            paths = [pair[0] for line in sample if (pair := divide(line, shape, separator))]
            paths = [one for one in paths if one.count("/") >= dropped and is_image(one) != by_name]
            if 2 * len(paths) <= len(sample) or (by_name and shape == "front"):
                continue
            plain = ListFile(lists, path, "", shape, separator, dropped, by_name)
            # What is left of horse/1.jpg is no image of cat/.
            for group in [bases.own] if dropped else bases:
                forms = (replace(plain, base=base) for base in group)
                fitting = [form for form in forms if _most_exist(names, form, _spread(paths))]
                if len(fitting) > 1 and group is not bases.own:
                    if shape == "path" and _are_apart(names, fitting, _spread(paths)):
                        return None  # names of images in class folders: see `recognising.accounting`
                    raise _several_bases(folder, fitting)
                if fitting:
                    return fitting[0]
    return None


def _are_apart(names: NameResolver, forms: Sequence[ListFile], paths: Sequence[str]) -> bool:
    """Return whether every path is in one of the folders at most, so that none is in doubt."""
    return all(sum(_exists(names, form, path) for form in forms) <= 1 for path in paths)


def _several_bases(folder: Folder, forms: Sequence[ListFile]) -> CallError:
    one = forms[0]
    found = " and ".join(f"{printable(form.base)}/" for form in forms[:_MAX_SHOWN])
    commands = [
        Change(
            f"the images in {form.base}/",
            {"root": join(folder.url, form.base)},
            sources=(join(one.folder.url, one.path),),
        )
        for form in forms[:_MAX_SHOWN]
    ]
    commands.append(Change("each folder is a class", {"layout": "class-folders"}, sources=(folder.url,)))
    return RefusalError(f"{one.folder.url}/{one.path}: the images that it names are in {found}", commands)


def _shapes(sample: Sequence[str]) -> Iterator[tuple[Shape, str | None]]:
    yield "path", None
    separators = [one for one in _SEPARATORS if one is None or all(one in line for line in sample)]
    for separator in separators:
        yield "last", separator
        yield "first", separator
    for separator in separators:
        yield "front", separator


def _spread(paths: Sequence[str]) -> list[str]:
    step = max(1, len(paths) // _LOOKED_UP)
    return list(dict.fromkeys(paths[::step]))[:_LOOKED_UP]


def _most_exist(names: NameResolver, form: ListFile, paths: Sequence[str]) -> bool:
    missing = 0
    for path in paths:
        missing += not _exists(names, form, path)
        if 2 * missing > len(paths) or missing == len(paths):
            return False
    return True


def _exists(names: NameResolver, form: ListFile, path: str) -> bool:
    if (key := form.key(path)) is None:
        return False
    if not form.by_name:
        found = file_or_folder(names.folder, key)
        return found is not None and not found.is_folder
    try:
        found_key = names.find(key)
    except BadRecord:  # several files: the engine stops
        return True
    return found_key is not None and is_image(found_key)
