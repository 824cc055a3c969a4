"""Decide what the columns of a table of boxes mean, from a header or from the first record of a table without one.

The tables are those of TensorFlow's and Roboflow's object detection CSV, AutoML, Open Images, keras-retinanet,
make-sense, and of Kaggle's competitions. Names are compared without case, blanks, '_' and '-'. What they mean is said
in the options of a reading, by the names of columns.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.formats.column_names import is_split
from shardkit.sources.formats.format import NUMBER, Options
from shardkit.sources.formats.tables.csv_files import CsvFile, split_records
from shardkit.sources.formats.tables.csv_opening import delimiter_of, open_csv
from shardkit.sources.formats.tables.lines import read_lines
from shardkit.sources.formats.tables.opening import column_index, open_table_file
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.formats.tables.text_files import TextFile
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import ending, file_or_folder
from shardkit.storage import Folder

TEXT = (".csv", ".tsv", ".txt")
FRACTIONS, PIXELS = "fractions", "pixels"  # the option `unit`
OPEN_IMAGES = "open images"  # the option `kind`
_BLANKS = " "


class BoxForm(Enum):
    """What the coordinates of a box are."""

    CORNERS = "corners"  # xmin, xmax and ymin, ymax
    SIZE = "size"  # xmin, width and ymin, height
    CENTRE = "centre"  # centre x, width and centre y, height
    OUTLINE = "outline"  # x and y of two or more corners in any order, some empty
    LIST = "list"  # four numbers in one column, CORNERS or SIZE
    LIST_OF_CORNERS = "list of corners"
    LIST_OF_SIZE = "list of size"


@dataclass(frozen=True, slots=True)
class BoxColumns:
    """The columns of a table of boxes, by index."""

    image: int
    xs: tuple[int, ...]  # coordinates of the box; one column of four numbers is in `xs` alone
    ys: tuple[int, ...]
    form: BoxForm
    label: int | None
    split: int | None
    size: tuple[int, ...]  # width and height of the image in pixels; () for none
    flags: tuple[tuple[str, int], ...]  # Open Images' flags by name
    is_fraction: bool  # whether coordinates are fractions of the image's sides

    @classmethod
    def of(cls, file: TableFile, options: Options) -> "BoxColumns":
        """Return the columns that the options of a reading name."""

        def one(role: str) -> int | None:
            return column_index(file, options[role]) if role in options else None

        def several(role: str) -> tuple[int, ...]:
            return tuple(column_index(file, name) for name in json.loads(options.get(role, "[]")))

        try:
            return cls(
                image=column_index(file, options["image"]),
                xs=several("x"),
                ys=several("y"),
                form=BoxForm(options["form"]),
                label=one("label"),
                split=one("split"),
                size=several("size"),
                flags=tuple((name, column_index(file, of)) for name, of in flags_of(options).items()),
                is_fraction=options.get("unit") == FRACTIONS,
            )
        except UnknownNameError:
            raise
        except (KeyError, TypeError, ValueError):
            msg = (
                f"{file.url}: image, x, y, size and form of the reading do not say its columns; leave form out to find "
                "them"
            )
            raise CallError(msg) from None


# Names of xmin, ymin, xmax, ymax.
_CORNERS = (
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("x0", "y0", "x1", "y1"),
    ("left", "top", "right", "bottom"),
    ("minx", "miny", "maxx", "maxy"),
    ("xtl", "ytl", "xbr", "ybr"),
    ("bboxxmin", "bboxymin", "bboxxmax", "bboxymax"),
    ("bboxx1", "bboxy1", "bboxx2", "bboxy2"),
    ("upperleftcornerx", "upperleftcornery", "lowerrightcornerx", "lowerrightcornery"),
)
# Names of x, y, width, height of the box.
_SIZES = (
    ("xmin", "ymin", "width", "height"),
    ("left", "top", "width", "height"),
    ("bboxx", "bboxy", "bboxwidth", "bboxheight"),
    ("x", "y", "width", "height"),
    ("x", "y", "w", "h"),
)
_CENTRES = (
    ("xcenter", "ycenter", "width", "height"),
    ("xcentre", "ycentre", "width", "height"),
    ("cx", "cy", "w", "h"),
    ("xc", "yc", "w", "h"),
)
_LISTS = ("bbox", "boundingbox")  # "[834.0, 222.0, 56.0, 36.0]"
# The first header of Udacity's CrowdAI exchanges two names: the values are xmin, ymin, xmax, ymax, as in the later one.
_UDACITY = ("xmin", "xmax", "ymin", "ymax", "frame", "label", "previewurl")
# All columns of Kaggle's "Global Wheat Detection", whose page says that the list is [xmin, ymin, width, height].
_WHEAT = {"imageid", "width", "height", "bbox", "source"}
# The usual names of columns, by the options that name them.
_USUAL = {
    "image": (
        *("image", "imagepath", "imageuri", "filename", "filepath", "path", "file", "img", "imagename", "imgname"),
        *("fname", "imageid", "imgid", "imagefilename", "patientid", "id", "frame"),
    ),
    "label": (
        *("classname", "labelname", "categoryname", "displayname", "class", "label", "category", "name", "target"),
        *("species", "classid", "labelid", "categoryid", "annotationtag"),
    ),
    "split": ("split", "mluse", "set", "partition", "subset"),
}
_IMAGE_SIZES = (("width", "height"), ("imagewidth", "imageheight"), ("imgwidth", "imgheight"))
_OPEN_IMAGES = {"imageid", "labelname", "xmin", "xmax", "ymin", "ymax"}
_FLAGS = ("is_depiction", "is_group_of", "is_inside", "is_occluded", "is_truncated")

# AutoML's corners: columns of tables without a header, so no header has these names.
_VERTICES = tuple(f"vertex {number} {axis}" for number in range(1, 5) for axis in "xy")
# Columns of tables without a header, and what each field of a record is: i image, l label, s split, n number or empty.
FIRST_SIDE = "x1"
_HEADERLESS = (
    (("image", FIRST_SIDE, "y1", "x2", "y2", "class"), "innnnl"),  # keras-retinanet
    (("image", FIRST_SIDE, "y1", "x2", "y2", "class", "image_width", "image_height"), "innnnlnn"),  # SKU-110K
    (("split", "image", "label", *_VERTICES), "silnnnnnnnn"),  # AutoML
    (("image", "label", *_VERTICES), "ilnnnnnnnn"),  # AutoML without sets
    (("label", "x", "y", "w", "h", "image", "image_width", "image_height"), "lnnnninn"),  # make-sense
)


def is_box_table(names: Sequence[str]) -> bool:
    """Return whether a table has one row per box."""
    return columns_without_header(names) is not None or _by_names(names, {}) is not None


def columns_without_header(fields: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns of a table whose first line is a record of a known form; None if it is not."""
    for names, kinds in _HEADERLESS:
        if len(fields) == len(kinds) and all(map(_fits, fields, kinds)):
            return names
    return None


def _fits(field: str, kind: str) -> bool:
    if kind == "i":
        return ending(field) in IMAGE_ENDINGS
    if kind == "n":
        return not field.strip() or NUMBER.fullmatch(field.strip()) is not None
    return kind == "l" or not field.strip() or is_split(field)


def find_columns(file: TableFile, given: Options) -> dict[str, str]:
    """Return the options that say what the columns of a table mean, with those that are given."""
    for role in _USUAL.keys() & given.keys():
        column_index(file, given[role])
    if found := _by_names(file.columns, given):
        return found
    msg = (
        f"{file.url}: a table of boxes needs a column of images and the columns xmin, ymin, xmax, ymax (or x, y, "
        f"width, height); found {', '.join(map(repr, file.columns))}; rename its columns"
    )
    raise DataError(msg)


def _by_names(names: Sequence[str], given: Options) -> dict[str, str] | None:
    at = _plain(names)
    form, sides = _box(at)
    if (*at,) == _UDACITY:
        sides = tuple(names[:4])
    roles = {role: given.get(role) or _first(at, usual) for role, usual in _USUAL.items()}
    if roles["image"] is None or not sides:
        return None
    used = {*sides, roles["image"], roles["label"]}
    sizes = ((at[w], at[h]) for w, h in _IMAGE_SIZES if w in at and h in at)
    several: dict[str, Sequence[str]] = {
        "x": sides if form is BoxForm.LIST else sides[::2],
        "y": () if form is BoxForm.LIST else sides[1::2],
        "size": next((one for one in sizes if not used.intersection(one)), ()),
    }
    return {
        **given,
        **{role: name for role, name in roles.items() if name is not None},
        **{role: json.dumps(some) for role, some in several.items() if some},
        "form": form.value,
        **({"kind": OPEN_IMAGES} if at.keys() >= _OPEN_IMAGES else {}),
    }


def usual_form(names: Sequence[str]) -> BoxForm | None:
    """Return what a list of four numbers is if its values do not tell; None if nobody says."""
    return BoxForm.LIST_OF_SIZE if _plain(names).keys() == _WHEAT else None


def flags_in(names: Sequence[str]) -> str:
    """Return the columns of the flags that a table of Open Images has, as the option that names them."""
    at = _plain(names)
    return json.dumps({name: at[of] for name in _FLAGS if (of := name.replace("_", "")) in at})


def flags_of(options: Options) -> dict[str, str]:
    """Return the columns of flags that the options of a reading name."""
    return dict(json.loads(options.get("flags", "{}")))


def _plain(names: Iterable[str]) -> dict[str, str]:
    """Return names by what is compared of them, the first of equal ones."""
    at: dict[str, str] = {}
    for name in names:
        at.setdefault(re.sub(r"[\s_-]", "", name).lower(), name)
    return at


def _box(at: Mapping[str, str]) -> tuple[BoxForm, tuple[str, ...]]:
    """Return the form of the boxes and their columns, x before y; () if there are none."""
    vertices = tuple(name.replace(" ", "") for name in _VERTICES)
    of_forms = ((BoxForm.OUTLINE, (vertices,)), (BoxForm.CORNERS, _CORNERS), (BoxForm.CENTRE, _CENTRES))
    for form, sets in (*of_forms, (BoxForm.SIZE, _SIZES)):
        for sides in sets:
            if all(side in at for side in sides):
                return form, tuple(at[side] for side in sides)
    in_list = _first(at, _LISTS)
    return BoxForm.LIST, () if in_list is None else (in_list,)


def _first(at: Mapping[str, str], usual: Sequence[str]) -> str | None:
    return next((at[name] for name in usual if name in at), None)


def open_box_file(folder: Folder, path: str) -> TableFile:
    """Open a table of boxes, with a header or in a known form without one."""
    kind = posixpath.splitext(path)[1].lower()
    if kind in TEXT and file_or_folder(folder, path) is not None:
        fields, delimiter = first_fields(folder, path)
        if columns := columns_without_header(fields):
            return CsvFile(folder, path, columns, delimiter, num_skipped=0, spaced=False)
        if is_box_table(fields):
            if delimiter == _BLANKS:
                return TextFile(folder, path, tuple(fields), delimiter, num_skipped=1, spaced=False, has_header=True)
            # Every name of the header is known to be one: a class called a.jpg is no sign of a record.
            return open_csv(folder, path, tabs=kind == ".tsv", known=frozenset(name.strip().lower() for name in fields))
    return open_table_file(folder, path, SourceOptions())


def first_fields(folder: Folder, path: str) -> tuple[Sequence[str], str]:
    """Return the fields of the first line of a text table, and its delimiter."""
    lines = (line for line in read_lines(folder, path) if line.text.strip() and not line.problem)
    if (first := next(lines, None)) is None:
        return (), ","
    delimiter, words = delimiter_of(first.text), first.text.split()
    record = next(split_records(iter([first]), delimiter, spaced=False), None)
    fields = [] if record is None else [str(value).strip() for value in record.values]
    return (words, _BLANKS) if path.lower().endswith(".txt") and len(words) > len(fields) else (fields, delimiter)
