"""A folder that hides the files and folders that `ignore` names, whatever the layout reads it."""

from dataclasses import dataclass

from shardkit.sources.ignoring.globs import IgnoreGlob
from shardkit.storage import Entry, WrappedFolder


@dataclass(frozen=True, slots=True)
class FilteredFolder(WrappedFolder):
    """A folder of a source without the files that globs match.

    Layouts decide by the names that they see how a tree is read. So hiding comes before every layout, as if the files
    had been moved away; a filter of the listed images could not tell that the only other folder is to be ignored.

    Attributes:
        globs: What is hidden.
        above: Path of the folder below SOURCE, where globs begin; '' if it is SOURCE.
    """

    globs: tuple[IgnoreGlob, ...]
    above: str = ""

    def hiding_glob(self, path: str, *, is_folder: bool = False) -> IgnoreGlob | None:
        """Return the first glob that hides a file, or a whole folder; None if none does."""
        full = f"{self.above}/{path}" if self.above and path else path or self.above
        return next((one for one in self.globs if (one.matches_folder if is_folder else one.matches)(full)), None)

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder."""
        prefix = f"{path}/" if path else ""
        entries = self.inner.scan(path)
        return [one for one in entries if self.hiding_glob(prefix + one.name, is_folder=one.is_folder) is None]

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        found = self.inner.stat(path)
        if found is None or (path and self.hiding_glob(path, is_folder=found.is_folder)):
            return None
        return found
