"""Find the folders of images that YOLO's data.yaml names; read the names of classes from a text, or ask for them."""

import contextlib
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.forms import ClassesOfFile
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.formats.class_files import names_in
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import files_in, join, parent_of
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


def resolve(root: str, at: str, entry: str, exists: Callable[[str], bool]) -> str | None:
    """Return the path below the source that an entry means; None if there is none.

    A relative entry starts at `at`; leading ``../`` are dropped if nothing is there, because Roboflow writes too many.
    An absolute entry is below the source, or the dataset was moved: then its longest end that exists counts.
    """
    entry = entry.strip().replace("\\", "/")
    if entry.startswith("/") or entry[1:3] == ":/":
        if entry.startswith(f"{root}/"):
            ends = [entry[len(root) + 1 :]]
        else:
            parts = [part for part in entry.split("/") if part not in {"", ".", ".."}]
            ends = ["/".join(parts[start:]) for start in range(len(parts))]
        tried = [posixpath.normpath(end) for end in ends]
    else:
        below = posixpath.normpath(join(at, entry))
        kept = posixpath.normpath(entry)
        while kept.startswith("../"):
            kept = kept[3:]
        tried = [below, posixpath.normpath(join(at, kept)), kept]
    tried = ["" if path == "." else path for path in tried]
    return next((path for path in tried if path.split("/")[0] != ".." and exists(path)), None)


def base_of(root: str, yaml_path: str, base: str, exists: Callable[[str], bool]) -> str:
    """Return the folder below the source that entries start at: `path` if it exists, else the YAML's folder.

    A `path` that leads out of the source is not followed; see base_outside.
    """
    own = parent_of(yaml_path)
    if not base or base == ".":
        return own
    if base.startswith("/"):
        # A path of another machine means nothing here.
        return (
            base[len(root) + 1 :].rstrip("/") if base.startswith(f"{root}/") and exists(base[len(root) + 1 :]) else own
        )
    found = resolve(root, own, base, exists)
    return own if found is None else found


def base_outside(url: str, base: str) -> str | None:
    """Return the folder that the `path` of a YAML in the local folder `url` means, if it exists; else None.

    The folder may be anywhere. It is only shown to the user, because a file that comes with the data must not lead
    shardkit out of its folder.
    """
    place = os.path.normpath(os.path.join(url, base))
    return place if base and "://" not in url and os.path.isdir(place) else None
