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
from shardkit.sources.formats.class_files import names_in
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import files_in, join
from shardkit.storage import Folder

_MAY_NAME_CLASSES = re.compile(r".*(?:class|label|name).*\.txt|.*\.names", re.IGNORECASE)  # predefined_classes.txt


def given_names(folder: Folder, bases: Iterable[str], options: SourceOptions) -> tuple[tuple[int, str], ...]:
    """Return the names that the user gives; () if the user names the layout, so that classes are called by numbers."""
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
