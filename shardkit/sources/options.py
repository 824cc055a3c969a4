"""What the user may say about a source, where it does not tell by itself."""

from dataclasses import dataclass
from typing import Literal

LabelType = Literal["auto", "class", "number"]


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How a source is to be read.

    Attributes:
        layout: one of naming.LAYOUTS; None to find out.
        label_pattern: regular expression with one group, or a group named ``label``, that is searched in a file's name.
        root: folder or URL that relative paths of a table, COCO file or data.yaml start at; None: see each layout.
        image_column: of a table; None: the first of the usual names.
        label_columns: of a table, several for several labels; none: the first of the usual names.
        label_separator: what parts several labels in one column.
        label_type: whether labels are names of classes, or numbers to regress on.
        split_column: of a table; None: the first of the usual names, if there is one.
        group_by: column of a table; for other layouts a regular expression over keys, which the plan applies.
    """

    layout: str | None = None
    label_pattern: str | None = None
    root: str | None = None
    image_column: str | None = None
    label_columns: tuple[str, ...] = ()
    label_separator: str | None = None
    label_type: LabelType = "auto"
    split_column: str | None = None
    group_by: str | None = None
