"""Define `SourceOptions`: how a source is read where the user says so and shardkit does not detect it."""

from dataclasses import dataclass, fields

from shardkit.errors import CallError
from shardkit.layouts import LAYOUTS
from shardkit.options.values import LabelType, Layout, Missing, Uncertain
from shardkit.options.words import named
from shardkit.record_sources.datasets.key_files import Corrections, DropList
from shardkit.sources.readings.values import Reading

_OF_ALL_LAYOUTS = {"layout", "group_by", "classes", "ignore", "also", "remembered"}  # options


@dataclass(frozen=True, slots=True)
class Remembered:
    """The dataset that remembers a reading.

    Attributes:
        url: Its folder.
        layout: The layout of its source.
        is_continued: Whether the same source is read again, in which files were accounted for before.
        tolerated: Endings of files in the dataset's source that were no matter.
    """

    url: str
    layout: str
    is_continued: bool
    tolerated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How a source is read.

    Attributes:
        layout: Name of a layout; None to detect it.
        reading: How the source is read; None to detect it. Then it holds what the other options say.
        remembered: The dataset that the reading was remembered by; None if the user has given it.
        label_pattern: Regular expression that is searched in file names; its first group is the label,
            or its groups ``label``, ``split`` and ``group`` are.
        class_level: Level of the class folders, counted from the source or its split folders; from 1.
        root: Folder or URL that relative paths in a table, list or label file start from; None: see the layout.
        path_prefix: Replacements ``OLD=NEW`` of the beginning of a table's paths; the first that fits counts.
        image_column: Column of a table; None: the first of the usual names; None to reject them.
        label_columns: Columns, fields or kinds of the labels, several for several labels; (): the first usual name.
        label_separator: Separator of several labels in one column; None for one label.
        label_type: Whether labels are class names or numbers for regression.
        uncertain: What -1 means in columns of 0 and 1; None: such columns are refused.
        split_column: Column of a table; None: the first of the usual names that exists.
        group_by: Column of a table; in other layouts a regular expression over keys, which the plan applies.
        image_feature: Feature of TFRecords with the image; None to find it.
        label_feature: Feature of TFRecords with the labels; None to find it.
        keep_truncated: Whether the first records of a TFRecord file that cannot be read to its end are converted.
        classes: Class names in label order. A table's integers are positions in it, from 0, unless it names them.
        ignore: Globs of files and folders that are left out; see shardkit.sources.ignoring.
        where: Condition on the examples of a dataset, which are kept if it is true; see shardkit.dataset.conditions.
        drop: Keys of a dataset's examples that are left out.
        labels: Corrected labels of a dataset's examples.
        also: Further datasets, or TFRecord files and folders, that are read together with the source, which is one.
        readmit: Whether examples that were removed from one of several datasets come in again from another one.
        without_annotation: What happens to images that no record of boxes or classes names.
        drop_repeated_boxes: Whether boxes are left out that repeat an earlier one of their image.
        key_prefix: Whether the keys of datasets get the name of their dataset's folder.
    """

    layout: Layout | None = None
    reading: Reading | None = None
    remembered: Remembered | None = None
    label_pattern: str | None = None
    class_level: int = 1
    root: str | None = None
    path_prefix: tuple[str, ...] = ()
    image_column: str | None = None
    label_columns: tuple[str, ...] = ()
    label_separator: str | None = None
    label_type: LabelType = "auto"
    uncertain: Uncertain | None = None
    split_column: str | None = None
    group_by: str | None = None
    image_feature: str | None = None
    label_feature: str | None = None
    keep_truncated: bool = False
    classes: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    where: str | None = None
    drop: DropList | None = None
    labels: Corrections | None = None
    also: tuple[str, ...] = ()
    key_prefix: bool = False
    readmit: bool = False
    without_annotation: Missing | None = None
    drop_repeated_boxes: bool = False

    def refuse_unaccepted(self, layout: Layout) -> None:
        """Refuse options that the layout would ignore."""
        for field in fields(self):
            accepts = field.name in LAYOUTS[layout].options or field.name in _OF_ALL_LAYOUTS
            if not accepts and getattr(self, field.name) != field.default:
                others = ", ".join(row.name for row in LAYOUTS.values() if field.name in row.options)
                msg = (
                    f"{named(field.name)} has no effect on the layout {layout}, which SOURCE was read as; it is for "
                    f"{others}"
                )
                raise CallError(msg)
