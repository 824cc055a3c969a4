"""Read the names of YOLO's classes from a text, or ask for them."""

import contextlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.forms import ClassesOfFile
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.detection.yolo.data_yaml import checked_names
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import file_or_folder, files_in, join, read_label_file
from shardkit.storage import Folder

_MAX_NAMES_BYTES = 16 << 20  # 16 MiB
_MAY_NAME_CLASSES = re.compile(r".*(?:class|label|name).*\.txt|.*\.names", re.IGNORECASE)  # predefined_classes.txt


def names_in(folder: Folder, path: str) -> tuple[tuple[int, str], ...]:
    """Read class names, one per line.

    Raises:
        DataError: A line is empty, or a name occurs twice.
    """
    found = file_or_folder(folder, path)
    data = read_label_file(folder, path, found.num_bytes if found else 0, _MAX_NAMES_BYTES)
    if isinstance(data, str):
        msg = f"{folder.url}/{path}: {data}; expected one class name a line"
        raise DataError(msg)
    try:
        names = [line.strip() for line in data.decode("utf-8-sig").split("\n")]
    except UnicodeDecodeError as error:
        msg = f"{folder.url}/{path}: byte {error.start + 1:,} is not UTF-8; save the file as UTF-8"
        raise DataError(msg) from None
    while names and not names[-1]:
        names.pop()
    if not names or not all(names):
        msg = f"{folder.url}/{path}: line {names.index('') + 1 if names else 1} is empty; expected a class name a line"
        raise DataError(msg)
    return checked_names(list(enumerate(names)), f"{folder.url}/{path}")


def given_names(folder: Folder, bases: Iterable[str], options: SourceOptions) -> tuple[tuple[int, str], ...]:
    """Return the names that the user gives; () if the user names the layout, so that classes are called by numbers.

    Args:
        folder: Root of the source.
        bases: The folders that have images/ and labels/.
        options: Options of the source.

    Raises:
        RefusalError: The user does neither.
    """
    if options.classes is not None:
        return tuple(enumerate(options.classes))
    if options.layout is not None:
        return ()
    changes = [*_in_other_texts(folder, bases)]
    changes.append(Change("the numbers are the names of the classes", {"layout": "yolo"}))
    problem = f"{folder.url}: there are no names of YOLO's classes, no classes.txt and no data.yaml"
    remedy = f"give a file of a name a line, that of class 0 first, with {named('classes')}"
    raise RefusalError(problem, changes, remedy=remedy)


def _in_other_texts(folder: Folder, bases: Iterable[str]) -> Iterator[Change]:
    """Yield a change for each text whose name says that it may name the classes, if the option can name it."""
    for place in dict.fromkeys(["", *bases]):
        for path in files_in(folder, place, ".txt", ".names"):
            written = join(folder.url, path)
            if _MAY_NAME_CLASSES.fullmatch(posixpath.basename(path)) and Path(written).is_file():
                with contextlib.suppress(DataError):  # it is another text
                    names = [name for _, name in names_in(folder, path)]
                    yield Change(f"the names in {printable(path)}", {"classes": ClassesOfFile.of(names, written)})
