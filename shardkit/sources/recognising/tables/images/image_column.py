"""Find the column that names the images: by usual names, and for less usual names by the files that exist."""

from collections.abc import Callable, Sequence

from shardkit.errors import CallError, DataError, ShardkitError
from shardkit.options.words import named
from shardkit.sources.engine.lookup import refuse_lost_zeros
from shardkit.sources.engine.table_refusals import Choice, refuse
from shardkit.sources.formats.column_names import IMAGE_COLUMNS, LIKELY_IMAGE_COLUMNS, named_like
from shardkit.sources.formats.tables.records import Record, TableFile, enumerated
from shardkit.sources.recognising.tables.images.image_folder import Placement
from shardkit.sources.walking import files_below, is_image

# Returns where the images are that a column names; None if it names none. May raise CallError or DataError.
PlaceColumn = Callable[[int], Placement | None]
_MAX_CHOICES = 4  # commands of a refusal


def find_image(file: TableFile, prefix: Sequence[Record], place: PlaceColumn | None, source: str) -> int:
    """Return the column of images, if the user names none."""
    usual = named_like(file.columns, IMAGE_COLUMNS)
    likely = [i for i in named_like(file.columns, LIKELY_IMAGE_COLUMNS) if i not in usual]
    if place is None or (len(usual) == 1 and not likely):
        if usual:
            return usual[0]
        raise _none(file, "has a usual name for image paths")
    error: ShardkitError | None = None
    found: dict[int, Placement] = {}
    for columns in (usual, likely):  # less usual names count only if no column of a usual name agrees
        for i in columns if not found else ():
            try:
                placement = place(i)
            except (CallError, DataError) as caught:
                error = error or caught
                continue
            if placement and placement.agrees and placement.files not in [one.files for one in found.values()]:
                found[i] = placement
    # A path says which of two files of one name is meant.
    shorter = {i for i in found if any(_ends_with(prefix, other, i) for other in found if other != i)}
    found = {i: one for i, one in found.items() if i not in shorter}
    if len(found) > 1:
        names = [file.columns[i] for i in found][:_MAX_CHOICES]
        problem = f"{file.url}: {' or '.join(map(repr, names))} may be the image column"
        choices = [Choice({"image_column": name}, f"the image is in column {name!r}") for name in names]
        raise refuse(problem, source, choices)
    if found:
        return next(iter(found))
    if usual:
        return usual[0]
    if error:
        raise error
    if suggestions := [i for i in range(len(file.columns)) if i not in likely and _names_files(file, prefix, i, place)]:
        choices = [
            Choice({"image_column": file.columns[i]}, f"the image is in column {file.columns[i]!r}")
            for i in suggestions[:_MAX_CHOICES]
        ]
        raise refuse(f"{file.url}: no column has a usual name for image paths", source, choices)
    named_files = (path for path, entry in files_below(file.folder, "") if is_image(entry.name))
    refuse_lost_zeros(file, [i for i, name in enumerate(file.columns) if name], named_files)
    if likely:
        listed = enumerated([repr(file.columns[i]) for i in likely])
        raise _none(
            file,
            f"has a usual name for image paths, and values of {listed} name no files in {file.folder.url} or near it",
        )
    raise _none(file, "has a usual name for image paths")


def _ends_with(prefix: Sequence[Record], column: int, other: int) -> bool:
    """Return whether all values of a column are paths that end in the values of another one."""
    pairs = [(str(one.values[column]).replace("\\", "/"), str(one.values[other])) for one in prefix]
    return all(path.endswith(f"/{name}") for path, name in pairs)


def _names_files(file: TableFile, prefix: Sequence[Record], column: int, place: PlaceColumn) -> bool:
    values = [record.values[column] for record in prefix]
    texts = {value for value in values if isinstance(value, str) and value.strip()}
    if not file.columns[column] or len(texts) * 2 < len(values):
        return False  # a class repeats, an image's name does not
    try:
        placement = place(column)
    except (CallError, DataError):
        return False
    return placement is not None and placement.agrees


def _none(file: TableFile, why: str) -> DataError:
    columns = enumerated([repr(name) for name in file.columns if name])
    return DataError(
        f"{file.url}: none of the columns {columns} {why}; name the column with {named('image_column')}, and "
        "the folder of its "
        f"images with {named('root')}"
    )
