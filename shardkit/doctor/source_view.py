"""What one host sees of a source: compared between driver and workers, it tells a missing mount."""

from dataclasses import dataclass

from shardkit.errors import ShardkitError
from shardkit.sources.visibility import FolderView
from shardkit.storage import open_folder


@dataclass(frozen=True, slots=True)
class SourceView:
    """What a host sees of a source, by the rule of `visibility.FolderView`, which the workers of `convert` follow too.

    Attributes:
        num_entries: Number of files and folders in the folder; size in bytes if the source is a file; -1 if nothing is
            there.
        names_sum: See FolderView; 0 for a file.
        error: Why it cannot be read; empty if it can.
    """

    num_entries: int = -1
    names_sum: int = 0
    error: str = ""

    @classmethod
    def of(cls, url: str) -> "SourceView":
        """Look at a source; errors become a field. Object stores are listed too: a host may lack the credentials."""
        try:
            folder = open_folder(url)
            found = folder.stat("")
            if found is not None and not found.is_folder:
                return cls(found.num_bytes)
            entries = folder.scan()
        except (OSError, ShardkitError) as error:
            return cls(error=str(getattr(error, "strerror", None) or error))
        if found is None and not entries:  # in object stores, a folder without a file is no folder
            return cls(error="there is no such file or folder")
        return cls(*FolderView.of_names(entry.name for entry in entries))

    def difference(self, other: "SourceView") -> str:
        """Return how another host's view differs from this one, in words; empty if it is equal."""
        if other.error:
            return other.error
        if other.num_entries != self.num_entries:
            return f"{other.num_entries} entries, the driver sees {self.num_entries}"
        return "" if other == self else "other names than the driver sees"
