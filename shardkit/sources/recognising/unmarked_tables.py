"""Open the tables of a folder that no layout recognises."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shardkit.errors import CallError
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.split_columns import split_of_file
from shardkit.sources.file_names import ending
from shardkit.sources.formats.column_names import IMAGE_COLUMNS, LIKELY_IMAGE_COLUMNS, named_like
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS
from shardkit.sources.listing import Source
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.folders.adjacent_tables import AdjacentTable, AdjacentTables, are_classes
from shardkit.sources.recognising.folders.annotated_trees import readings_of_masks
from shardkit.sources.recognising.folders.looking_at_tables import look_at_tables
from shardkit.sources.recognising.folders.source_place import SourcePlace, place_of
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.sources.recognising.split_tables import SplitTables, open_split_tables
from shardkit.sources.recognising.tables.layout import FoundTable, open_table_in
from shardkit.sources.recognising.tables.number_names import names_file_of
from shardkit.sources.recognising.wrapped_source import NotedSource
from shardkit.sources.walking import children, folders_in, join
from shardkit.storage import Folder


class IsReadWithout(Exception):  # noqa: N818 - no error: the source is opened again without them
    """A tree is read without some of its folders and files.

    Attributes:
        globs: What hides them, as for `ignore`.
        why: Why, as the end of a sentence with them.
    """

    def __init__(self, globs: tuple[str, ...], why: str) -> None:
        """Keep the globs and the reason."""
        super().__init__(globs, why)
        self.globs = globs
        self.why = why


def open_table(opening: Opening) -> Source:
    """Open a table; or that in a folder or archive, whatever the folders may mean."""
    if opening.file is not None:
        return source_of(opening, open_table_in(opening.folder, opening.file, opening.options))
    tables = look_at_tables(opening.folder, opening.excluded)
    if not tables.naming:
        msg = (
            f"{opening.folder.url}: there is no table in it that names images below it; give the table's file as SOURCE"
        )
        raise CallError(msg)
    if len(tables.naming) > 1:
        raise _refuse_tables(opening.folder, tables, place_of(opening), tables.families)
    return _open_table(opening, tables, tables.naming[0], opening.options, place_of(opening))


def source_of(opening: Opening, found: FoundTable | SplitTables) -> Source:
    """Return the source that reads found tables."""
    reading = replace(found.reading(opening.folder), classes=opening.options.classes or ())
    remark = found.remark if isinstance(found, FoundTable) else ""
    return open_reading(opening, reading, name=found.layout, is_strict=False, remark=remark)


def open_tables(opening: Opening, beside: AdjacentTables, options: SourceOptions, place: SourcePlace) -> Source:
    """Open the tables that are the source."""
    folder = opening.folder
    if len(beside.naming) == 1 and not are_classes(beside.naming[0]):
        _refuse_labelled_split(folder, beside.naming[0], place)
        return _open_table(opening, beside, beside.naming[0], options, place)
    if beside.are_of_splits or beside.are_parts:
        if options.image_column is None:
            options = replace(options, image_column=beside.naming[0].image_column)
        others: tuple[Change, ...] = ()
        if all(are_classes(table) for table in beside.naming):
            others = (place.tree({"layout": "class-folders"}, "each folder is a class, with these splits"),)
        with offering(place, others):
            paths = beside.of_splits if beside.are_of_splits else [(one.name, None) for one in beside.naming]
            split_tables = open_split_tables(folder, paths, options, beside.of_other_folders)
        if beside.must_differ and split_tables.share_images(folder):  # each is a reading of its own then
            raise _refuse_tables(folder, beside, place, families=())
        if options.classes is None:
            named = [(split, with_class_names(one, folder)) for split, one in split_tables.tables]
            split_tables = replace(split_tables, tables=tuple(named))
        return _noted(source_of(opening, split_tables), folder, beside, "that no table names")
    if apart := _of_other_images(beside):
        does = "names images of other folders and is" if len(apart) == 1 else "name images of other folders and are"
        raise IsReadWithout(tuple(f"/{join(place.above, name)}" for name in apart), f"{does} not read")
    raise _refuse_tables(folder, beside, place, beside.families)


def _of_other_images(beside: AdjacentTables) -> list[str]:
    """Return the tables next to those of splits that name no image of their folders: Meta.csv of pictures of signs."""
    if len(beside.families) != 1:
        return []
    family = {name for name, _ in beside.families[0]}
    used = frozenset[str]().union(*(one.image_folders for one in beside.naming if one.name in family))
    others = [one for one in beside.naming if one.name not in family]
    return [one.name for one in others] if all(one.image_folders.isdisjoint(used) for one in others) else []


def with_class_names(table: FoundTable, folder: Folder) -> FoundTable:
    """Return a table whose numbers have the names that a file in a folder gives them, if there is one."""
    names, unused = names_file_of(folder, table.file, table.columns.labels)
    return replace(table, names=names, unused_names=unused)


def open_split_lists(opening: Opening, beside: AdjacentTables, options: SourceOptions) -> Source:
    """Open tables that repeat the labels of the folders, for the splits that they are of."""
    first = beside.naming[0]
    options = replace(
        options,
        image_column=options.image_column or first.image_column,
        label_columns=options.label_columns or (first.folder_column,),
    )
    opened = open_split_tables(opening.folder, beside.of_splits, options, beside.of_other_folders)
    return _noted(source_of(opening, opened), opening.folder, beside, "that no table names")


def _refuse_labelled_split(folder: Folder, table: AdjacentTable, place: SourcePlace) -> None:
    """Refuse test.csv with the images of test/ next to train/cat/ and train/dog/: the table would hide these."""
    others = [name for name in splits_of(folders_in(folder)) if name not in table.image_folders]
    labelled = [name for name in others if len(folders_in(folder, name)) > 1]
    if not labelled or not table.image_folders - {""}:
        return
    shown = " and ".join(f"{name}/" for name in labelled)
    problem = f"{place.shown}: {table.name} names no image in {shown}, where the folders may be labels"
    commands = [
        place.without([table.name], f"the folders in {shown} are the labels, {table.name} is not read", files=True),
        place.without(labelled, f"the labels are in {table.name}; {shown} left out"),
    ]
    raise RefusalError(problem, commands)


def _open_table(
    opening: Opening, beside: AdjacentTables, table: AdjacentTable, options: SourceOptions, place: SourcePlace
) -> Source:
    folder = opening.folder
    if options.image_column is None:
        options = replace(options, image_column=table.image_column)
    if not options.label_columns and (table.target or len(table.others) == 1):
        options = replace(options, label_columns=(table.target,) if table.target else tuple(table.others))
    # The table's file as SOURCE would lose lists of splits, a column of images that its values tell, and far images.
    is_usual = named_like([table.image_column], (*IMAGE_COLUMNS, *LIKELY_IMAGE_COLUMNS))
    is_beside = "/" not in table.name
    try:
        with contextlib.nullcontext() if is_usual and is_beside and not _has_splits(folder) else offering(place):
            opened = open_table_in(folder, table.name, options)
    except RefusalError as error:
        refusal = error.refusal
        if with_masks := readings_of_masks(folder, place):  # the table names masks, too
            raise RefusalError(refusal.problem, with_masks, remedy=refusal.remedy, appendix=refusal.appendix) from error
        raise
    named = opened if options.classes is not None else with_class_names(opened, folder)
    return _noted(source_of(opening, named), folder, beside, f"that {table.name} does not name")


@contextlib.contextmanager
def offering(place: SourcePlace, others: tuple[Change, ...] = ()) -> Iterator[None]:
    """Let commands that would read one table read the folder: the splits are in other files."""
    try:
        yield
    except RefusalError as error:
        refusal = error.refusal
        # A folder's tables are found whatever the layout of a table alone has to be.
        options = [{name: value for name, value in one.options.items() if name != "layout"} for one in refusal.changes]
        changes = [place.tree(some, one.meaning) for some, one in zip(options, refusal.changes, strict=True)]
        changes += others
        raise RefusalError(refusal.problem, changes, remedy=refusal.remedy, appendix=refusal.appendix) from error


def _has_splits(folder: Folder) -> bool:
    """Return whether a file next to a table may be a list of splits."""
    return any(split_of_file(one.name) is not None for one in children(folder) if ending(one.name) in TEXT_ENDINGS)


def _refuse_tables(
    folder: Folder, beside: AdjacentTables, place: SourcePlace, families: Sequence[Sequence[tuple[str, str]]]
) -> CallError:
    names = [table.name for table in beside.naming]
    commands = []
    for family in families:
        splits = sorted(name for name, _ in family)
        others = [name for name in names if name not in splits]
        commands.append(place.without(others, f"the splits are in {' and '.join(splits)}", files=True))
    of_families = {name for family in families for name, _ in family}  # alone, they lose the other splits
    for name in [name for name in names if name not in of_families]:
        meaning = f"the labels are in {name}"
        if inside := place.inside([name], meaning):
            of_text = {"layout": "table"} if ending(name) in TEXT_ENDINGS else {}
            commands += [replace(one, options={**one.options, **of_text}) for one in inside]
        else:
            command = place.without([other for other in names if other != name], meaning, files=True)
            commands.append(replace(command, options={"layout": "table", **command.options}))
    if any(table.image_folders - {""} for table in beside.naming):
        commands += readings_of_masks(folder, place)
        if any(are_classes(table) and len(table.image_folders) == 1 for table in beside.naming):
            commands.append(place.without(names, "the folders are the classes", files=True))
        else:
            commands.append(place.tree({"layout": "class-folders"}, "each folder is a class"))
    if len(names) == 1:
        problem = f"{place.shown}: {names[0]} names the images, and the folders' names may be classes"
        return RefusalError(problem, commands)
    return RefusalError(f"{place.shown}: {' and '.join(names)} all name images", commands)


def _noted(source: Source, folder: Folder, beside: AdjacentTables, why: str) -> Source:
    used = frozenset[str]().union(*(one.image_folders for one in beside.naming))
    unused = () if "" in used else tuple(name for name in folders_in(folder) if name not in used)
    return NotedSource(source.folder, source, beside.remark, folder, unused, why)
