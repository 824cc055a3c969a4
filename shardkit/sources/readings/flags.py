"""The short form of an origin, as flags have it.

path:1                          the second folder below the root; path:-1 the one that holds the image
name:^([a-z]+)_                 the first group of a regular expression in the name; tree:REGEX searches the path
labels.csv:diagnosis            a column of a table; columns are separated by commas, tables by ';'
train.txt=train,val.txt=test    lists of images, and what each stands for
coco:annotations/*.json         files of a format; the format alone searches for its usual files
masks/{stem}_m.png              a file of each image; masks/{stem}=images/{stem}_sat has the template of the image, too
=cat                            one value of all images
"""

import re

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.sources.formats.registry import FORMATS, IMAGE_FORMATS
from shardkit.sources.readings.values import (
    Annotation,
    Column,
    Constant,
    Listed,
    Origin,
    Paired,
    PathPart,
    PathRegex,
    Reading,
)

_NUMBER = re.compile(r"-?[0-9]+")
_FORMAT = re.compile(r"([a-z][a-z0-9-]*)(?::(.*))?", re.DOTALL)
_STEM = "{stem}"  # the template of images that a mask has without one
_FORMS = (
    "path:0 (a folder's name), name:REGEX (in the file's name), TABLE:COLUMN, LIST=VALUE,…, FORMAT:FILES such as "
    "coco:annotations/*.json, or a template such as masks/{stem}.png"
)


def parse_origin(text: str, where: str, fact: str) -> Origin:
    """Return the origin that a flag says in short."""
    kind, separator, rest = text.partition(":")
    if separator and kind == "path":
        if not _NUMBER.fullmatch(rest):
            msg = f"{where}: path: is followed by the number of a folder, such as path:0 or path:-1; found {rest!r}"
            raise CallError(msg)
        return PathPart(int(rest))
    if separator and kind in {"name", "tree"} and rest:
        return PathRegex(compiled(rest, where), of="name" if kind == "name" else "path")
    found = _FORMAT.fullmatch(text)
    if found and (fact == "boxes" or found[1] in FORMATS or found[1] in IMAGE_FORMATS):
        return Annotation(found[1], tuple(filter(None, (found[2] or "").split(";"))))
    if fact == "mask" or "{" in text:
        return _paired(text)
    if text.startswith("="):
        return Constant(text[1:])
    if pairs := _lists(text):
        return Listed(pairs)
    # The last colon: gs://bucket/labels.csv:class.
    files, separator, columns = text.rpartition(":")
    if separator and files and columns:
        return Column(tuple(columns.split(",")), tuple(files.split(";")))
    msg = f"{where}: {printable(text)!r} is no origin; write {_FORMS}"
    raise CallError(msg)


def _paired(text: str) -> Paired:
    texts = text.split(",")
    pairs = [one.partition("=")[::2] for one in (texts if all("{" in one for one in texts) else [text])]
    (pair, image), *also = [(mask, image or _STEM) for mask, image in pairs]
    return Paired(pair, image, dict(also))


def _lists(text: str) -> dict[str, str]:
    pairs = [one.rpartition("=") for one in text.split(",")]
    return {path: value for path, _, value in pairs} if all(path and value for path, _, value in pairs) else {}


def compiled(regex: str, where: str) -> str:
    """Return a regular expression with a group."""
    try:
        pattern = re.compile(regex)
    except re.error as error:
        msg = f"{where}: {printable(regex)!r} is not a regular expression: {error.msg}; correct it"
        raise CallError(msg) from None
    if not pattern.groups:
        msg = f"{where}: {printable(regex)!r} has no group; put what is the value in parentheses"
        raise CallError(msg)
    return regex


def origin_text(origin: Origin) -> str:
    """Return an origin as a flag has it, or as YAML would, if no flag can say all of it."""
    match origin:
        case PathPart(path=path, map=map_):
            return f"path:{path}" + _more(map_)
        case PathRegex(regex=regex, of=of, map=map_):
            return f"{'name' if of == 'name' else 'tree'}:{regex}" + _more(map_)
        case Column(column=column, files=files):
            return f"{';'.join(files)}:{','.join(column)}"
        case Listed(lists=lists):
            return ",".join(f"{path}={value}" for path, value in lists.items())
        case Annotation(format=name, files=files):
            return f"{name}:{';'.join(files)}" if files else name
        case Paired(pair=pair, image=image, also=also):
            pairs = ((pair, image), *also.items())
            return ",".join(mask if one == _STEM else f"{mask}={one}" for mask, one in pairs)
        case Constant(constant=constant):
            return f"={constant}"


def fact_text(name: str, origin: Origin) -> str:
    """Return where a fact comes from, for the user."""
    rest = getattr(origin, "rest", None)
    if isinstance(rest, PathPart | PathRegex):
        rest = origin_text(rest)
    text = origin_text(origin)
    if isinstance(origin, Paired):
        text = origin.pair + (f" and {len(origin.also)} more" if origin.also else "")
    return f"{name} from {printable(text)}" + (f", {printable(rest)} for all other images" if rest else "")


def folder_levels(reading: Reading) -> str:
    """Return the folders of a path as ``<split>/<label>/…/image``; '' if other facts or files give anything."""
    origins = dict(reading.facts())
    parts = {name: one.path for name, one in origins.items() if isinstance(one, PathPart) and one.path >= 0}
    if "label" not in parts or len(parts) < len(origins):
        return ""
    names = {index: " and ".join(name for name in parts if parts[name] == index) for index in parts.values()}
    return "/".join([*(f"<{names.get(i, 'folder')}>" for i in range(max(names) + 1)), "…/image"])


def _more(map_: object) -> str:
    return " with a map" if map_ else ""
