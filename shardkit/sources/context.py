"""Define `Opening`, which says what a layout opens: every layout is opened by one function of it."""

from dataclasses import dataclass, field, replace

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.errors import CallError
from shardkit.sources.ignoring.filtered_folder import FilteredFolder
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import join
from shardkit.storage import Folder, open_folder


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
        """Name of the file that is the source; None if the folder is."""
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
        """Return the folder for images that listing has to unpack."""
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
