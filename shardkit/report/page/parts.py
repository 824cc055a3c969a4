"""What the sections of a page are made of."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from shardkit.conversion.planning.sizing import format_size
from shardkit.naming import printable

TEXT_LENGTH = 160  # characters of a name or message that are shown: names of any length keep the page small
_ICON_SIDE = 64  # pixels
_ICON = 0.01  # megapixels: 100 x 100 pixels


class Chart(NamedTuple):
    """A chart with its heading, a line below it, and the names of its colours."""

    heading: str
    svg: Markup
    note: str = ""
    legend: Sequence[str] = ()


class Table(NamedTuple):
    """A table: its first column is text, the others are numbers unless `is_text`."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    is_text: bool = False
    is_folded: bool = False


class Thumbnail(NamedTuple):
    """A small picture.

    Attributes:
        src: A data URI; '' if there is no picture.
        alt: What it shows, for readers who do not see it.
        width: Width of the picture in pixels.
        height: Height in pixels.
        key: The whole key.
        caption: The line below it.
        details: What is said about the larger picture besides the key.
    """

    src: str
    alt: str
    width: int
    height: int
    key: str
    caption: str
    details: str

    @property
    def is_small(self) -> bool:
        """Whether the pixels of the picture are to be seen, because it is an icon."""
        return max(self.width, self.height) <= _ICON_SIDE


class Sheet(NamedTuple):
    """Pictures with a heading: those of a class, or of a set of copies. `anchor` is its id; '' for none."""

    heading: str
    detail: str
    thumbnails: Sequence[Thumbnail]
    anchor: str = ""


class SheetGroup(NamedTuple):
    """Sheets that are folded together. Those of sets are as wide as their pictures, whose captions say enough."""

    heading: str
    sheets: Sequence[Sheet]
    is_open: bool
    is_sets: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page.

    Attributes:
        id: Its anchor.
        title: Its heading.
        intro: Paragraphs below the heading.
        charts: Charts, next to each other.
        tables: Tables.
        groups: Pictures.
        code: A command.
        has_class_table: Whether the searchable table of classes is part of it.
    """

    id: str
    title: str
    intro: Sequence[str] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    groups: Sequence[SheetGroup] = ()
    code: str = ""
    has_class_table: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether it has nothing but sentences."""
        return not (self.charts or self.tables or self.groups or self.code or self.has_class_table)


def class_anchor(label: int) -> str:
    """Return the id of the pictures of a class."""
    return f"class-{label}"


def class_link(name: str, label: int, with_pictures: Collection[int]) -> str:
    """Return the name of a class, as a link to its pictures if the page has some."""
    if label not in with_pictures:
        return name
    return Markup('<a href="#{}">{}</a>').format(class_anchor(label), name)


def cut(text: str, length: int = TEXT_LENGTH) -> str:
    """Return a text from the data as it is shown: printable, and the middle of a long one left out."""
    text = printable(text)
    if len(text) <= length:
        return text
    return f"{text[: length * 2 // 3]}…{text[len(text) - length // 3 :]}"


def percent(share: float) -> str:
    """Return a share with as many digits as tell small shares apart: 12.3%, 0.04%."""
    if share == 0:
        return "0%"
    return f"{share:,.1%}" if share >= 0.001 else f"{share:.2%}" if share >= 0.0001 else "<0.01%"


def about_size(num_bytes: float) -> str:
    """Return a size in bytes, rounded for people."""
    return format_size(round(num_bytes))


def size_text(megapixels: float) -> str:
    """Return a size of images in megapixels; of icons, in pixels."""
    return f"{megapixels:.2g} megapixels" if megapixels >= _ICON else f"{megapixels * 1e6:,.0f} pixels"


def of_sample(num_read: int, total: int) -> str:
    """Return how many images were read: all, or a fixed sample."""
    if num_read >= total:
        return f"all {total:,} images"
    return f"a fixed sample of {num_read:,} of {total:,} images, evenly spaced over the shards"
