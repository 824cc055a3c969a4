"""How a source is read where the user says so and shardkit does not detect it, and what a layout opens."""

from dataclasses import dataclass, field, fields, replace

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.errors import CallError
from shardkit.layouts import LAYOUTS
from shardkit.options.values import LabelType, Layout, Missing, Uncertain
from shardkit.options.words import named
from shardkit.record_sources.datasets.key_files import Corrections, DropList
from shardkit.sources.filtered_folder import FilteredFolder
from shardkit.sources.readings.values import Reading
from shardkit.sources.walking import join
from shardkit.storage import Folder, open_folder

_OF_ALL_LAYOUTS = {"layout", "group_by", "classes", "ignore", "also", "remembered"}  # options


@dataclass(frozen=True, slots=True)
class Remembered:
    """The dataset that remembers a reading."""

    url: str  # its folder
    layout: str  # the layout of its source
    is_continued: bool  # whether the same source is read again, in which files were accounted for before
    tolerated: frozenset[str] = frozenset()  # endings of files in the dataset's source that were no matter


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How a source is read; `options.of_sources` says what each field means that is an option."""

    layout: Layout | None = None  # name of a layout; None to detect it
    # How the source is read; None to detect it; then it holds what the other options say
    reading: Reading | None = None
    # The dataset that the reading was remembered by; None if the user has given it
    remembered: Remembered | None = None
    label_pattern: str | None = None
    class_level: int = 1  # level of the class folders, counted from the source or its split folders; from 1
    root: str | None = None
    path_prefix: tuple[str, ...] = ()
    image_column: str | None = None  # column of a table; None: the first of the usual names; None to reject them
    label_columns: tuple[str, ...] = ()
    label_separator: str | None = None  # separator of several labels in one column; None for one label
    label_type: LabelType = "auto"  # whether labels are class names or numbers for regression
    uncertain: Uncertain | None = None  # what -1 means in columns of 0 and 1; None: such columns are refused
    split_column: str | None = None  # column of a table; None: the first of the usual names that exists
    group_by: str | None = None
    image_feature: str | None = None  # feature of TFRecords with the image; None to find it
    label_feature: str | None = None  # feature of TFRecords with the labels; None to find it
    keep_truncated: bool = False
    classes: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()  # globs of files and folders that are left out; see shardkit.sources.filtered_folder
    where: str | None = None
    drop: DropList | None = None  # keys of a dataset's examples that are left out
    labels: Corrections | None = None  # corrected labels of a dataset's examples
    also: tuple[str, ...] = ()
    key_prefix: bool = False  # whether the keys of datasets get the name of their dataset's folder
    readmit: bool = False
    without_annotation: Missing | None = None  # what happens to images that no record of boxes or classes names
    drop_repeated_boxes: bool = False  # whether boxes are left out that repeat an earlier one of their image

    def refuse_unaccepted(self, layout: Layout) -> None:
        for one in fields(self):
            accepts = one.name in LAYOUTS[layout].options or one.name in _OF_ALL_LAYOUTS
            if not accepts and getattr(self, one.name) != one.default:
                others = ", ".join(row.name for row in LAYOUTS.values() if one.name in row.options)
                msg = (
                    f"{named(one.name)} has no effect on the layout {layout}, which SOURCE was read as; it is for "
                    f"{others}"
                )
                raise CallError(msg)


@dataclass(frozen=True, slots=True)
class Opening:
    """What a layout opens: a folder or files in it, and how the user wants it to be read."""

    # The source's folder, without the files that the user ignores; or the folder of the files that are the source
    folder: Folder
    options: SourceOptions = field(default_factory=SourceOptions)  # options of the source
    url: str = ""  # SOURCE in commands; '' if there are none to print
    paths: tuple[str, ...] = ()  # paths below the folder of the files that are the source; () if the folder is
    # The output folder, which is not listed if it is inside the source; None if there is none
    output: Folder | None = None
    work: Folder | None = None  # folder for images that listing has to unpack; None if there is none
    left_out: tuple[str, ...] = ()  # globs of what is not read, which `folder` hides; see `class_tree.Without`

    @property
    def file(self) -> str | None:
        return self.paths[0] if self.paths else None

    @property
    def excluded(self) -> str | None:
        """Path of the output below the folder, which is not listed; None if it is not below."""
        if self.output is None:
            return None
        above, below = self.folder.resolve(""), self.output.resolve("")
        return below[len(above) + 1 :] if below.startswith(above.rstrip("/") + "/") else None

    @property
    def is_in_archive(self) -> bool:
        """Whether the folder is in an archive or a tree of several, so that no path leads to what is in it."""
        folder = self.folder.inner if isinstance(self.folder, FilteredFolder) else self.folder
        return isinstance(folder, ArchiveFolder | MountedFolder)

    def below(self, path: str) -> "Opening":
        """Return the same for a folder inside, which becomes the source's folder."""
        return replace(self, folder=subfolder(self.folder, path))

    def work_folder(self) -> Folder:
        if self.work is None:
            msg = "Parquet files with images and compressed archives are unpacked, which needs a work folder"
            raise CallError(msg)
        return self.work


def subfolder(folder: Folder, path: str) -> Folder:
    """Return the folder at a path below another one, with keys that start there."""
    if isinstance(folder, FilteredFolder):
        return replace(folder, inner=subfolder(folder.inner, path), above=join(folder.above, path))
    if isinstance(folder, ArchiveFolder | MountedFolder):
        return folder.below(path)
    return open_folder(f"{folder.url.rstrip('/')}/{path}")
