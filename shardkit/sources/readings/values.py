"""A reading: a frozen value that says which files are examples, and where the facts of each example come from.

There are seven origins of a fact. What they cannot say belongs into a table that the user writes; the set is not to
grow. The names of fields are those in YAML, see `text`.

Paths and globs are relative to SOURCE, keys to `Images.root`. A glob is one of .gitignore's, as for `ignore`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

from shardkit.options.values import Match, Missing

# A class; several; the column of several with a 1, or columns with a 1; or numbers for regression.
LabelKind = Literal["class", "classes", "one-hot", "indicators", "number"]
Unnamed = Literal["reject", "near", "ignore"]
Fact = Literal["label", "split", "group", "boxes", "mask", "feature"]

DETECTED = "detected"  # in place of a reading: that which a dataset remembers is not used
NUMBERS, TWO_COLOURS = "numbers", "black-and-white"  # palettes of masks that no file describes
STATED = "reading"  # the layout of a source whose reading the user states


@dataclass(frozen=True, slots=True)
class Images:
    """Which files are examples."""

    root: str = ""  # folder that keys start at, the same as in all further fields; '' for SOURCE
    include: tuple[str, ...] = ()  # globs of the keys of examples, which start at `root`, as in the next two
    exclude: tuple[str, ...] = ()  # globs of images that are none, and are counted
    unlabelled: tuple[str, ...] = ()  # globs of images without a label on purpose: stored with label -1
    # What happens to images that no record of the files of labels, boxes or splits names: rejected; left out and
    # counted (`ignore`); or rejected near images that one names, and counted in other folders (`near`)
    unnamed: Unnamed = "reject"


@dataclass(frozen=True, slots=True)
class PathPart:
    """A folder of an image's path."""

    path: int  # number of the folder: 0 is the first one below the root, -1 the one that holds the image
    # Value of each name; None: the example has none. Other names stand for themselves, but for a split
    map: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PathRegex:
    """A group of a regular expression that is searched in an image's name or path."""

    regex: str  # the expression
    group: int | str = 1  # number or name of the group
    of: Literal["name", "path"] = "name"  # what is searched: the name with its ending, or the path below the root
    map: Mapping[str, str | None] = field(default_factory=dict)  # value of each text, as in PathPart


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or several."""

    # The column; several for several labels or numbers; `*`: all columns of the first table but the key
    column: tuple[str, ...]
    files: tuple[str, ...]  # globs of the tables, which are read as one
    key: tuple[str, ...] = ()  # the column that names the image, or several that do together; () to find it
    between: str = "/"  # text between the values of several
    match: Match | None = None  # how it does; None to find out
    # Folder that its paths start at; '' for the root, '.' for the table's own; with a match by name or stem, the images
    # of other folders are not named
    base: str = ""
    bases: Mapping[str, str] = field(default_factory=dict)  # the same for some of the tables, by their paths
    strip: tuple[str, ...] = ()  # replacements `OLD=NEW` of the beginning of its paths; `~REGEX` is taken off its names
    fold: bool = False  # whether names are compared without case, and without the form of letters with accents
    map: Mapping[str, str | None] = field(default_factory=dict)  # value of each text, as in PathPart
    # Value of the images that no record names, or where it is in their paths; None: they have none; a label with it is
    # one of the images in the folders, whatever the records name
    rest: str | PathPart | PathRegex | None = None
    # Regular expressions of the lines of text files, by their paths, or `*`: named groups are the columns; a blank:
    # there is a header, and blanks are between fields
    lines: Mapping[str, str] = field(default_factory=dict)
    # Tables whose columns are added to each record, by the value of the one column that both have
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """Lists of images, each of which stands for a value; or the tables that another fact is read from."""

    lists: Mapping[str, str]  # value of the images in each list, by its path
    names: str = ""  # column of the images' names, if the lists are tables; '' if a line is a name
    match: Match | None = None  # how a line names an image; None to find out
    # Folder that paths start at; '' for the root; with a match by name or stem, the images of other folders are not
    # named
    base: str = ""
    bases: Mapping[str, str] = field(default_factory=dict)  # the same for some of the lists, by their paths
    strip: tuple[str, ...] = ()  # as in Column
    fold: bool = False  # as in Column
    rest: str | None = None  # value of the images in no list; None: they have none
    lines: str = ""  # regular expression of a line, whose group `image` is the name; '' if all of the line is


@dataclass(frozen=True, slots=True)
class Annotation:
    """Files of a format for annotations: COCO, Pascal VOC, YOLO, …."""

    format: str  # name of the format
    files: tuple[str, ...]  # globs of the files
    images: str = ""  # folder that the names of images in the files start at; '' for the root
    bases: Mapping[str, str] = field(default_factory=dict)  # the same for some of the files, by their paths
    # How they name images; None to find out. If each image has its own file: by the `path` below that folder, or by the
    # `end`: the image of its name in the nearest folder, or the one that it says
    match: Match | None = None
    fold: bool = False  # as in Column
    names: str = ""  # file with the names of the classes, if the files have their numbers
    # Further settings, by the names that the format gives them
    options: Mapping[str, str] = field(default_factory=dict)

    def placed(self, places: Mapping[str, str], match: Match) -> "Annotation":
        """Return the same with the folder that the names of images in each file start at, and how they name them."""
        first = next(iter(places.values()))
        bases = {path: place for path, place in places.items() if place != first}
        return replace(self, match=match, images=first, bases=bases)


@dataclass(frozen=True, slots=True)
class Paired:
    """A file of each image, by a template of its path: ``{0}/masks/{stem}_mask.png``."""

    # The template below the root, with the file's ending, or for any. `{0}` and `{-1}` are folders of the image's path,
    # `{dir}` is what the image's template has there, or all of them, `{stem}` is the image's name without ending,
    # `{name}` its name
    pair: str
    # Template of the image's path without ending, such as `images/{dir}/{stem}`; without a folder, of its name:
    # `{stem}_sat` takes `_sat` off it first
    image: str = "{stem}"
    # Further templates and those of their images; the first one whose file exists counts
    also: Mapping[str, str] = field(default_factory=dict)
    # File that says what the colours or numbers of masks mean, or `numbers`, or `black-and-white`; '' to find out which
    # of the two
    palette: str = ""

    @property
    def file(self) -> str:
        return "" if self.palette in {NUMBERS, TWO_COLOURS} else self.palette


@dataclass(frozen=True, slots=True)
class Constant:
    """One value of all images."""

    constant: str


Origin: TypeAlias = PathPart | PathRegex | Column | Listed | Annotation | Paired | Constant
ORIGINS: tuple[type[Any], ...] = (PathPart, PathRegex, Column, Listed, Annotation, Paired, Constant)


@dataclass(frozen=True, slots=True)
class Labels:
    """Where labels come from, and what they are."""

    origin: Origin  # where they come from
    kind: LabelKind | None = None  # what they are; None to find out from a table's values
    separator: str = ""  # text between several classes in one value; '' for none
    # What -1 means in columns of 0 and 1; None: such a value is an error
    minus_one: Literal["negative", "positive", "drop"] | None = None
    names: str = ""
    first: int | None = None  # number of the first line of that file, if it has no numbers; None to find out
    unused: Literal["keep", "drop"] = "keep"  # whether names in that file that no label is are classes, too


_FACTS = ("split", "group", "boxes", "mask")  # besides label and features


@dataclass(frozen=True, slots=True)
class Reading:
    """How a source is read."""

    images: Images = Images()  # which files are examples
    label: Labels | None = None  # where labels come from; None for images without labels, or with boxes or masks only
    split: Origin | None = None  # where splits come from; None: the source has none
    group: Origin | None = None  # where the group comes from whose examples stay in one split
    boxes: Annotation | None = None  # where boxes come from
    mask: Paired | Annotation | None = None  # where masks come from
    features: Mapping[str, Origin] = field(default_factory=dict)  # where further features come from, by name
    classes: tuple[str, ...] = ()  # class names in label order; () to sort those that occur
    # What happens to an image without record of boxes or class: rejected, stored as one without objects, or left out
    # and counted
    without_annotation: Missing = "reject"
    ignore: tuple[str, ...] = ()  # globs of files that are not read
    archives: tuple[str, ...] = ()  # archives that are read as folders
    version: int = 1  # version of this form

    def facts(self) -> Iterator[tuple[str, Origin]]:
        """Yield each fact that the reading gives, by its name in YAML, and its origin."""
        if self.label is not None:
            yield "label", self.label.origin
        for name in _FACTS:
            if (origin := getattr(self, name)) is not None:
                yield name, origin
        for name, origin in self.features.items():
            yield f"features.{name}", origin

    def mapped(self, change: Callable[[Any], Any]) -> "Reading":
        """Return the reading with another origin in place of each."""
        label = self.label and replace(self.label, origin=change(self.label.origin))
        others = {name: change(one) for name in _FACTS if (one := getattr(self, name)) is not None}
        return replace(self, label=label, features={name: change(one) for name, one in self.features.items()}, **others)


def field_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of a value's fields, the one that tells its kind first."""
    return tuple(one.name for one in fields(kind))


def files_of(origin: Origin) -> tuple[str, ...]:
    """Return the globs of the files that an origin is read from; a mask's are found by its template."""
    match origin:
        case Column(files=files, via=via):
            return (*files, *via)
        case Annotation(files=files, names=names):
            return (*files, names) if names else files
        case Listed(lists=lists):
            return tuple(lists)
        case Paired(file=file) if file:
            return (file,)
    return ()


def reading_below(reading: Reading, above: str) -> Reading:
    """Return a reading of a folder as one of a folder above it, with all paths below that one."""
    if not above:
        return reading

    def path(text: str) -> str:
        return text if "://" in text or text.startswith("/") else f"{above}/{text}" if text else above

    return replace(_with_paths(reading, path), images=replace(reading.images, root=path(reading.images.root)))


def renamed(reading: Reading, old: str, new: str) -> Reading:
    """Return a reading with another file in place of one."""
    return _with_paths(reading, lambda path: new if path == old else path)


def _with_paths(reading: Reading, path: Callable[[str], str]) -> Reading:

    def keys(of_files: Any) -> dict[str, Any]:
        return {one if one == "*" else path(one): value for one, value in of_files.items()}

    def placed(origin: Any) -> Any:
        match origin:
            case Column(files=files, lines=lines, via=via, bases=bases):
                moved = replace(origin, files=tuple(map(path, files)), lines=keys(lines))
                return replace(moved, via=tuple(map(path, via)), bases=keys(bases))
            case Listed(lists=lists, bases=bases):
                return replace(origin, lists=keys(lists), bases=keys(bases))
            case Annotation(files=files, bases=bases, names=names):
                files = tuple(map(path, files))
                return replace(origin, files=files, bases=keys(bases), names=path(names) if names else "")
            case Paired(file=file) if file:
                return replace(origin, palette=path(file))
        return origin

    label = reading.label
    if label is not None and label.names:
        reading = replace(reading, label=replace(label, names=path(label.names)))
    return reading.mapped(placed)
