"""Decide what the columns of a table of boxes mean, from a header or from the first record of a table without one.

The tables are those of TensorFlow's and Roboflow's object detection CSV, AutoML, Open Images, keras-retinanet,
make-sense, and of Kaggle's competitions. Names are compared without case, blanks, '_' and '-'.
"""

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.formats.column_names import is_split
from shardkit.sources.formats.format import NUMBER
from shardkit.sources.formats.tables.csv_files import CsvFile, split_records
from shardkit.sources.formats.tables.csv_opening import open_csv
from shardkit.sources.formats.tables.lines import read_lines
from shardkit.sources.formats.tables.opening import open_table_file
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.formats.tables.text_files import TextFile
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import ending, file_or_folder
from shardkit.storage import Folder

TEXT = (".csv", ".tsv", ".txt")
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
    form: BoxForm = BoxForm.CORNERS
    label: int | None = None
    split: int | None = None
    size: tuple[int, int] | None = None  # width and height of the image in pixels; None for none
    flags: tuple[tuple[str, int], ...] = ()  # Open Images' flags by name
    is_open_images: bool = False  # whether the columns are those of Open Images
    usual_form: BoxForm | None = None  # what a list is if its values do not tell; None if nobody says

    @property
    def is_fraction(self) -> bool | None:
        """Whether coordinates are fractions of the image's sides; None if only the values tell."""
        return True if self.is_open_images or self.form is BoxForm.OUTLINE else None


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
_IMAGE = (
    *("image", "imagepath", "imageuri", "filename", "filepath", "path", "file", "img", "imagename", "imgname", "fname"),
    *("imageid", "imgid", "imagefilename", "patientid", "id", "frame"),
)
_LABEL = (
    *("classname", "labelname", "categoryname", "displayname", "class", "label", "category", "name", "target"),
    *("species", "classid", "labelid", "categoryid", "annotationtag"),
)
_SPLIT = ("split", "mluse", "set", "partition", "subset")
_IMAGE_SIZES = (("width", "height"), ("imagewidth", "imageheight"), ("imgwidth", "imgheight"))
_OPEN_IMAGES = {"imageid", "labelname", "xmin", "xmax", "ymin", "ymax"}
_FLAGS = ("is_depiction", "is_group_of", "is_inside", "is_occluded", "is_truncated")

# AutoML's corners: columns of tables without a header, so no header has these names.
_VERTICES = tuple(f"vertex {number} {axis}" for number in range(1, 5) for axis in "xy")
# Columns of tables without a header, and what each field of a record is: i image, l label, s split, n number or empty.
_HEADERLESS = (
    (("image", "x1", "y1", "x2", "y2", "class"), "innnnl"),  # keras-retinanet
    (("image", "x1", "y1", "x2", "y2", "class", "image_width", "image_height"), "innnnlnn"),  # SKU-110K
    (("split", "image", "label", *_VERTICES), "silnnnnnnnn"),  # AutoML
    (("image", "label", *_VERTICES), "ilnnnnnnnn"),  # AutoML without sets
    (("label", "x", "y", "w", "h", "image", "image_width", "image_height"), "lnnnninn"),  # make-sense
)


def is_box_table(names: Sequence[str]) -> bool:
    """Return whether a table has one row per box."""
    return columns_without_header(names) is not None or _by_names(names) is not None


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


def find_columns(url: str, names: Sequence[str], options: SourceOptions) -> BoxColumns:
    """Return what the columns of a table mean."""
    columns = _by_names(names, options)
    for name in (options.image_column, *options.label_columns, options.split_column):
        if name and name not in names:
            msg = f"{url}: there is no column {name!r}; there are {', '.join(map(repr, names))}"
            raise UnknownNameError(msg)
    if columns is None:
        msg = (
            f"{url}: a table of boxes needs a column of images and the columns xmin, ymin, xmax, ymax (or x, y, width, "
            f"height); found {', '.join(map(repr, names))}; rename its columns"
        )
        raise DataError(msg)
    return columns


def _by_names(names: Sequence[str], options: SourceOptions | None = None) -> BoxColumns | None:
    at = _plain(names)
    form, sides = _box(at)
    if (*at,) == _UDACITY:
        sides = (0, 1, 2, 3)
    image = _first(at, _IMAGE)
    label, split = _first(at, _LABEL), _first(at, _SPLIT)
    if options is not None:
        image = names.index(options.image_column) if options.image_column in names else image
        label = next((names.index(name) for name in options.label_columns if name in names), label)
        split = names.index(options.split_column) if options.split_column in names else split
    if image is None or not sides:
        return None
    xs, ys = (sides, ()) if form is BoxForm.LIST else (sides[::2], sides[1::2])
    used = {*sides, image, label}
    size = next(
        ((at[w], at[h]) for w, h in _IMAGE_SIZES if w in at and h in at and not {at[w], at[h]} & used),
        None,
    )
    is_open_images = at.keys() >= _OPEN_IMAGES
    return BoxColumns(
        image=image,
        xs=xs,
        ys=ys,
        form=form,
        label=label,
        split=split,
        size=size,
        flags=_flags(at) if is_open_images else (),
        is_open_images=is_open_images,
        usual_form=BoxForm.LIST_OF_SIZE if at.keys() == _WHEAT else None,
    )


def _plain(names: Sequence[str]) -> dict[str, int]:
    at: dict[str, int] = {}
    for i, name in enumerate(names):
        at.setdefault(re.sub(r"[\s_-]", "", name).lower(), i)
    return at


def _flags(at: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple((name, at[name.replace("_", "")]) for name in _FLAGS if name.replace("_", "") in at)


def options_of(columns: BoxColumns, names: Sequence[str]) -> dict[str, str]:
    """Return what columns mean as the settings of a reading."""
    given = {"image": columns.image, "label": columns.label, "split": columns.split}
    options = {role: names[i] for role, i in given.items() if i is not None}
    several = {"x": columns.xs, "y": columns.ys, "size": columns.size or ()}
    options |= {role: json.dumps([names[i] for i in some]) for role, some in several.items() if some}
    return {**options, "form": columns.form.value, **({"kind": "open images"} if columns.is_open_images else {})}


def columns_of(url: str, names: Sequence[str], options: Mapping[str, str]) -> BoxColumns:
    """Return the columns that the settings of a reading name."""

    def at(name: str) -> int:
        if name not in names:
            msg = f"{url}: there is no column {name!r}; there are {', '.join(map(repr, names))}"
            raise UnknownNameError(msg)
        return names.index(name)

    def several(role: str) -> tuple[int, ...]:
        return tuple(map(at, json.loads(options.get(role, "[]"))))

    try:
        image, form = at(options["image"]), BoxForm(options["form"])
        xs, ys, size = several("x"), several("y"), several("size")
    except UnknownNameError:
        raise
    except (KeyError, TypeError, ValueError):
        msg = f"{url}: image, x, y, size and form of the reading do not say its columns; leave form out to find them"
        raise CallError(msg) from None
    is_open_images = "kind" in options
    return BoxColumns(
        image,
        xs,
        ys,
        form,
        at(options["label"]) if "label" in options else None,
        at(options["split"]) if "split" in options else None,
        (size[0], size[1]) if size else None,
        _flags(_plain(names)) if is_open_images else (),
        is_open_images,
    )


def _box(at: dict[str, int]) -> tuple[BoxForm, tuple[int, ...]]:
    """Return the form of the boxes and their columns, x before y; () if there are none."""
    vertices = [name.replace(" ", "") for name in _VERTICES]
    if all(name in at for name in vertices):
        return BoxForm.OUTLINE, tuple(at[name] for name in vertices)
    for form, sets in ((BoxForm.CORNERS, _CORNERS), (BoxForm.CENTRE, _CENTRES), (BoxForm.SIZE, _SIZES)):
        for sides in sets:
            if all(side in at for side in sides):
                return form, tuple(at[side] for side in sides)
    in_list = _first(at, _LISTS)
    return BoxForm.LIST, () if in_list is None else (in_list,)


def _first(at: dict[str, int], usual: Sequence[str]) -> int | None:
    return next((at[name] for name in usual if name in at), None)


def open_box_file(folder: Folder, path: str, options: SourceOptions) -> TableFile:
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
    return open_table_file(folder, path, options)


def first_fields(folder: Folder, path: str) -> tuple[Sequence[str], str]:
    """Return the fields of the first line of a text table, and its delimiter."""
    lines = read_lines(folder, path)
    first = next((line for line in lines if line.text.strip() and not line.problem), None)
    if first is None:
        return (), ","
    found: tuple[Sequence[str], str] = (), ","
    for delimiter in (",", "\t", ";", "|"):
        record = next(split_records(iter([first]), delimiter, spaced=False), None)
        if record is not None and record.problem is None and len(record.values) > len(found[0]):
            found = [str(value).strip() for value in record.values], delimiter
    words = first.text.split()
    return (words, _BLANKS) if path.lower().endswith(".txt") and len(words) > len(found[0]) else found
