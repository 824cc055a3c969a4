"""What one host sees of a source: compared between driver and workers, it tells a missing mount."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from shardkit.errors import ShardkitError
from shardkit.storage import open_folder

MAX_ENTRIES = 10_000  # names that the digest covers


@dataclass(frozen=True, slots=True)
class SourceView:
    """What a host sees of a source.

    Attributes:
        num_entries: Number of entries in the folder; size in bytes if the source is a file; -1 if nothing is there.
        digest: Of the names and kinds of its first MAX_ENTRIES entries; empty for a file.
        error: Why it cannot be read; empty if it can.
    """

    num_entries: int = -1
    digest: str = ""
    error: str = ""

    @classmethod
    def of(cls, url: str) -> "SourceView":
        """Look at a source; errors become a field."""
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
        digest = hashlib.sha256()
        for entry in entries[:MAX_ENTRIES]:
            digest.update(f"{entry.name}{'/' if entry.is_folder else ''}\0".encode(errors="surrogateescape"))
        return cls(len(entries), digest.hexdigest()[:16])

    def difference(self, other: "SourceView") -> str:
        """Return how another host's view differs from this one, in words; empty if it is equal."""
        if other.error:
            return other.error
        if other.num_entries != self.num_entries:
            return f"{other.num_entries} entries, the driver sees {self.num_entries}"
        return "" if other.digest == self.digest else "other names than the driver sees"

    def as_fields(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)
