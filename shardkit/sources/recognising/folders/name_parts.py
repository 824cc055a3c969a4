"""Refuse class folders next to a table whose records are of single images, but have only parts of their names.

Adience: ``faces/30601258@N03/coarse_tilt_aligned_face.2.10399_o.jpg`` is of user 30601258@N03, face 2 and 10399_o.jpg.
"""

import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence

from shardkit.errors import ShardkitError
from shardkit.naming import printable
from shardkit.refusals import RefusalError
from shardkit.sources.formats.tables.opening import open_table_file
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.walking import files_below, is_image
from shardkit.storage import Folder

_SEPARATOR = re.compile(r"[._ -]+")
_NUM_IMAGES = 200  # that are compared
_NUM_RECORDS = 20_000
_MIN_SHARE = 1 / 2  # of the images whose names have a part in the table
_MIN_CHARACTERS = 5  # of such a part: 1 or cat is in many names


def refuse_parts_of_names(folder: Folder, names: Sequence[str], place: SourcePlace) -> None:
    """Refuse tables of which one has a record for each image and names it only in part."""
    paths = (path for path, _ in files_below(folder, "") if is_image(path))
    images = [posixpath.basename(path) for path in itertools.islice(paths, _NUM_IMAGES if names else 0)]
    for name in names:
        if (found := _parts(folder, name, images)) is not None:
            column, part, image = map(printable, found)
            problem = (
                f"{place.shown}: column '{column}' of {printable(name)} has parts of the images' names, such as {part} "
                f"of {image}, and its other columns may be the labels"
            )
            remedy = f"add a column with the whole names to {printable(name)}"
            change = place.without([*names], f"without {' and '.join(map(printable, names))}", files=True)
            raise RefusalError(problem, [change], remedy=remedy)


def _parts(folder: Folder, name: str, images: Sequence[str]) -> tuple[str, str, str] | None:
    """Return the column of a table that has parts of the images' names, one of these, and its image; None for none."""
    try:
        file = open_table_file(folder, name, SourceOptions())
        records = itertools.islice(file.all_records(), _NUM_RECORDS)
        rows = [one.values for one in records if one.problem is None]
    except ShardkitError:
        return None
    for i, column in enumerate(file.columns):
        values = {str(row[i]) for row in rows if len(str(row[i])) >= _MIN_CHARACTERS}
        found = {
            image: part for image in images if (part := next((one for one in _ends(image) if one in values), None))
        }
        # Several images of one patient are no records of images.
        if len(found) >= _MIN_SHARE * len(images) and len(set(found.values())) == len(found) > 1:
            image, part = next(iter(found.items()))
            return column, part, image
    return None


def _ends(name: str) -> Iterator[str]:
    """Yield the beginnings and ends of a name at its separators, with its ending and without; not the whole name."""
    stem = posixpath.splitext(name)[0]
    for found in _SEPARATOR.finditer(stem):
        yield name[found.end() :]
        yield stem[found.end() :]
        yield stem[: found.start()]
