"""A reading: a frozen value that says which files are examples, and where the facts of each example come from.

There are seven origins of a fact. What they cannot say belongs into a table that the user writes; the set is not to
grow. The names of fields are those in YAML, see `text`.

Paths and globs are relative to SOURCE, keys to `Images.root`. A glob is one of .gitignore's, as for `ignore`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
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
    """Which files are examples.

    Attributes:
        root: Folder that keys start at, the same as in all further fields; '' for SOURCE.
        include: Globs of the keys of examples, which start at `root`, as in the next two.
        exclude: Globs of images that are none, and are counted.
        unlabelled: Globs of images without a label on purpose: stored with label -1.
        unnamed: What happens to images that no record of the files of labels, boxes or splits names: rejected; left
            out and counted (`ignore`); or rejected near images that one names, and counted in other folders (`near`).
    """

    root: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    unnamed: Unnamed = "reject"


@dataclass(frozen=True, slots=True)
class PathPart:
    """A folder of an image's path.

    Attributes:
        path: Number of the folder: 0 is the first one below the root, -1 the one that holds the image.
        map: Value of each name; None: the example has none. Other names stand for themselves, but for a split.
    """

    path: int
    map: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PathRegex:
    """A group of a regular expression that is searched in an image's name or path.

    Attributes:
        regex: The expression.
        group: Number or name of the group.
        of: What is searched: the name with its ending, or the path below the root.
        map: Value of each text, as in PathPart.
    """

    regex: str
    group: int | str = 1
    of: Literal["name", "path"] = "name"
    map: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or several.

    Attributes:
        column: The column; several for several labels or numbers; ``*``: all columns of the first table but the key.
        files: Globs of the tables, which are read as one.
        key: The column that names the image, or several that do together; () to find it.
        between: Text between the values of several.
        match: How it does; None to find out.
        base: Folder that its paths start at; '' for the root, '.' for the table's own. With a match by name or stem,
            the images of other folders are not named.
        bases: The same for some of the tables, by their paths.
        strip: Replacements ``OLD=NEW`` of the beginning of its paths; ``~REGEX`` is taken off its names.
        fold: Whether names are compared without case, and without the form of letters with accents.
        map: Value of each text, as in PathPart.
        rest: Value of the images that no record names, or where it is in their paths; None: they have none. A label
            with it is one of the images in the folders, whatever the records name.
        lines: Regular expressions of the lines of text files, by their paths, or ``*``: named groups are the columns. A
            blank: there is a header, and blanks are between fields.
        via: Tables whose columns are added to each record, by the value of the one column that both have.
    """

    column: tuple[str, ...]
    files: tuple[str, ...]
    key: tuple[str, ...] = ()
    between: str = "/"
    match: Match | None = None
    base: str = ""
    bases: Mapping[str, str] = field(default_factory=dict)
    strip: tuple[str, ...] = ()
    fold: bool = False
    map: Mapping[str, str | None] = field(default_factory=dict)
    rest: str | PathPart | PathRegex | None = None
    lines: Mapping[str, str] = field(default_factory=dict)
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """Lists of images, each of which stands for a value; or the tables that another fact is read from.

    Attributes:
        lists: Value of the images in each list, by its path.
        names: Column of the images' names, if the lists are tables; '' if a line is a name.
        match: How a line names an image; None to find out.
        base: Folder that paths start at; '' for the root. With a match by name or stem, the images of other folders are
            not named.
        bases: The same for some of the lists, by their paths.
        strip: As in Column.
        fold: As in Column.
        rest: Value of the images in no list; None: they have none.
        lines: Regular expression of a line, whose group `image` is the name; '' if all of the line is.
    """

    lists: Mapping[str, str]
    names: str = ""
    match: Match | None = None
    base: str = ""
    bases: Mapping[str, str] = field(default_factory=dict)
    strip: tuple[str, ...] = ()
    fold: bool = False
    rest: str | None = None
    lines: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """Files of a format for annotations: COCO, Pascal VOC, YOLO, ….

    Attributes:
        format: Name of the format.
        files: Globs of the files.
        images: Folder that the names of images in the files start at; '' for the root.
        bases: The same for some of the files, by their paths.
        match: How they name images; None to find out. If each image has its own file: by the `path` below that folder,
            or by the `end`: the image of its name in the nearest folder, or the one that it says.
        fold: As in Column.
        names: File with the names of the classes, if the files have their numbers.
        options: Further settings, by the names that the format gives them.
    """

    format: str
    files: tuple[str, ...]
    images: str = ""
    bases: Mapping[str, str] = field(default_factory=dict)
    match: Match | None = None
    fold: bool = False
    names: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Paired:
    """A file of each image, by a template of its path: ``{0}/masks/{stem}_mask.png``.

    Attributes:
        pair: The template below the root, with the file's ending, or for any. ``{0}`` and ``{-1}`` are folders of the
            image's path, ``{dir}`` is what the image's template has there, or all of them, ``{stem}`` is the image's
            name without ending, ``{name}`` its name.
        image: Template of the image's path without ending, such as ``images/{dir}/{stem}``; without a folder, of its
            name: ``{stem}_sat`` takes ``_sat`` off it first.
        also: Further templates and those of their images. The first one whose file exists counts.
        palette: File that says what the colours or numbers of masks mean, or ``numbers``, or ``black-and-white``; ''
            to find out which of the two.
    """

    pair: str
    image: str = "{stem}"
    also: Mapping[str, str] = field(default_factory=dict)
    palette: str = ""

    @property
    def file(self) -> str:
        """The file that says what the pixels of masks mean; '' for none."""
        return "" if self.palette in {NUMBERS, TWO_COLOURS} else self.palette


@dataclass(frozen=True, slots=True)
class Constant:
    """One value of all images."""

    constant: str


Origin: TypeAlias = PathPart | PathRegex | Column | Listed | Annotation | Paired | Constant
ORIGINS: tuple[type[Any], ...] = (PathPart, PathRegex, Column, Listed, Annotation, Paired, Constant)


@dataclass(frozen=True, slots=True)
class Labels:
    """Where labels come from, and what they are.

    Attributes:
        origin: Where they come from.
        kind: What they are; None to find out from a table's values.
        separator: Text between several classes in one value; '' for none.
        minus_one: What -1 means in columns of 0 and 1; None: such a value is an error.
        names: File with the names of classes that the labels are numbers of: a line each, or JSON.
        first: Number of the first line of that file, if it has no numbers; None to find out.
        unused: Whether names in that file that no label is are classes, too.
    """

    origin: Origin
    kind: LabelKind | None = None
    separator: str = ""
    minus_one: Literal["negative", "positive", "drop"] | None = None
    names: str = ""
    first: int | None = None
    unused: Literal["keep", "drop"] = "keep"


@dataclass(frozen=True, slots=True)
class Reading:
    """How a source is read.

    Attributes:
        images: Which files are examples.
        label: Where labels come from; None for images without labels, or with boxes or masks only.
        split: Where splits come from; None: the source has none.
        group: Where the group comes from whose examples stay in one split.
        boxes: Where boxes come from.
        mask: Where masks come from.
        features: Where further features come from, by name.
        classes: Class names in label order; () to sort those that occur.
        without_annotation: What happens to an image without record of boxes or class: rejected, stored as one without
            objects, or left out and counted.
        ignore: Globs of files that are not read.
        archives: Archives that are read as folders.
        version: Version of this form.
    """

    images: Images = Images()
    label: Labels | None = None
    split: Origin | None = None
    group: Origin | None = None
    boxes: Annotation | None = None
    mask: Paired | Annotation | None = None
    features: Mapping[str, Origin] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    without_annotation: Missing = "reject"
    ignore: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    version: int = 1

    def facts(self) -> Iterator[tuple[str, Origin]]:
        """Yield each fact that the reading gives, by its name in YAML, and its origin."""
        if self.label is not None:
            yield "label", self.label.origin
        for name in ("split", "group", "boxes", "mask"):
            if (origin := getattr(self, name)) is not None:
                yield name, origin
        for name, origin in self.features.items():
            yield f"features.{name}", origin


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
