"""What a tree of folders may be besides folders of classes."""

from dataclasses import dataclass

from shardkit.sources.recognising.folders.class_folders import LabelRoot


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A folder that holds nothing but one folder, in which the source is.

    Attributes:
        name: The inner folder.
    """

    name: str


@dataclass(frozen=True, slots=True)
class FlatFolders:
    """Folders of images without label folders.

    Attributes:
        roots: The folders and their splits.
        left_out: Other folders, which have no labels.
        why: Why the folders are no classes, as a clause with them; '' if there are no folders.
    """

    roots: tuple[LabelRoot, ...]
    left_out: tuple[str, ...] = ()
    why: str = ""
