"""Offer to read a source without one thing in it that hides boxes, masks or labels from every layout.

project/labels.json, project/1.jpg, more/2.jpg        without more/
coco/annotations/…, coco/images/…, predictions.csv    without predictions.csv
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from shardkit.errors import CallError, DataError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.call import Change
from shardkit.refusals import Refusal, RefusalError, RefusedDataError
from shardkit.sources.context import Opening
from shardkit.sources.file_names import ending
from shardkit.sources.formats.tables.opening import TABLE_ENDINGS
from shardkit.sources.listing import Source
from shardkit.sources.recognising.folders.source_place import place_of
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.sources.recognising.uniting import is_annotated, unwrapped
from shardkit.sources.recognising.unmarked_tables import IsReadWithout
from shardkit.sources.walking import children, folders_in

# Options of changes that read what has no boxes or masks.
_WITHOUT_THEM = frozenset({"image_column", "label_columns", "label_pattern", "layout", "unlabelled"})
_MAX_ENTRIES = 8  # folders and files next to each other: of more, nobody would guess the odd one


def offering_parts(
    error: CallError | DataError, opening: Opening, open_without: Callable[[str], Source]
) -> CallError | DataError:
    """Return the refusal of a tree with the changes that leave one thing out, if the rest is read then."""
    known = error.refusal if isinstance(error, RefusalError | RefusedDataError) else Refusal(str(error))
    found = [(change, rest) for change in _omissions(opening) if (rest := _rest(open_without, change)) is not None]
    made = (RefusedDataError if isinstance(error, DataError) else RefusalError)(known.problem)
    changes = [change for change, rest in found if is_annotated(rest)]
    folders = [change for change in changes if _leaves_out_a_folder(change)]
    if len(folders) > 1:  # each of them may be what the annotations are of
        changes = [change for change in changes if change not in folders]
    if changes:
        others = [one for one in known.changes if _WITHOUT_THEM.isdisjoint(one.options)]
        made.refusal = replace(known, changes=(*changes, *others))
    elif found and known.changes and all(one.options.keys() == {"label_columns"} for one in known.changes):
        # No column says that it is the labels. Classes in the other folders are no reason to leave a folder out.
        files = [change for change, _ in found if not _leaves_out_a_folder(change)]
        made.refusal = replace(known, changes=(*known.changes, *files))
    else:
        return error
    return made


def _leaves_out_a_folder(change: Change) -> bool:
    glob: str = change.options["ignore"][-1]
    return glob.endswith("/")


def _omissions(opening: Opening) -> Iterator[Change]:
    """Yield the changes that leave out one folder, one table, or the images next to folders."""
    around = unwrapped(opening)
    above = around.folder.url.removeprefix(opening.folder.url).strip("/")
    place = replace(place_of(opening), above=above)
    entries = children(around.folder)
    folders = [one.name for one in entries if one.is_folder and one.name != around.excluded]
    files = [one.name for one in entries if not one.is_folder]
    tables = [name for name in files if ending(name) in TABLE_ENDINGS]
    kinds = sorted({f"*.{name.rpartition('.')[2]}" for name in files if ending(name) in IMAGE_ENDINGS})
    if not folders or len(folders) + len(tables) > _MAX_ENTRIES:
        return
    inner = {name: {*folders_in(around.folder, name)} for name in folders}
    for name in folders if len(folders) > 1 else ():
        # Folders of the same names are parts of the same data.
        is_alike = any(inner[name] & inner[other] for other in folders if other != name)
        if not is_alike and name not in splits_of(folders):
            yield place.without([name], f"without {printable(name)}/")
    for name in tables:
        yield place.without([name], f"{printable(name)} is not read", files=True)
    for kind in kinds:
        yield place.without([kind], "only the images in folders", files=True)


def _rest(open_without: Callable[[str], Source], change: Change) -> Source | None:
    """Return what is read with a change; None for nothing."""
    try:
        return open_without(change.options["ignore"][-1])
    except (CallError, DataError, IsReadWithout):
        return None
