"""``exports.json``: the files that `shardkit export` wrote into a folder, next to the dataset or elsewhere.

It tells shardkit's files from a user's own, which no command overwrites or removes: a file of the list is shardkit's as
long as it has the sha256 of the list. An entry without one is of an export that was interrupted.
"""

import json
from dataclasses import dataclass

from shardkit.hashing import sha256_hex
from shardkit.naming import relative_path_problem
from shardkit.storage import Folder

EXPORTS = "exports.json"
HERE = "."  # in place of the dataset's URL: the dataset is in this folder
_WRITER = "shardkit export"


@dataclass(frozen=True, slots=True)
class Exported:
    """One file.

    Attributes:
        sha256: SHA-256 of the file; None while it is written.
        manifest: Digest of the manifest that it was derived from.
    """

    sha256: str | None
    manifest: str


@dataclass(frozen=True, slots=True)
class ExportList:
    """The files that were exported into a folder.

    Attributes:
        dataset: URL of their dataset; HERE if it is in the same folder.
        files: The files by their path in the folder.
    """

    dataset: str
    files: dict[str, Exported]

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        files = {path: {"sha256": one.sha256, "manifest": one.manifest} for path, one in sorted(self.files.items())}
        fields = {"written_by": _WRITER, "dataset": self.dataset, "files": files}
        return json.dumps(fields, indent=1, ensure_ascii=False).encode() + b"\n"

    def is_own(self, folder: Folder, path: str) -> bool:
        """Return whether a file that is there is on the list and unchanged."""
        one = self.files.get(path)
        return one is not None and (one.sha256 is None or sha256_hex(folder.read(path)) == one.sha256)


def read_export_list(folder: Folder) -> ExportList | None:
    """Return the list in a folder; None if there is none, or a file of this name that is no such list."""
    if folder.stat(EXPORTS) is None:
        return None
    try:
        fields = json.loads(folder.read(EXPORTS))
        files = {str(path): Exported(one["sha256"], str(one["manifest"])) for path, one in fields["files"].items()}
        is_own = fields["written_by"] == _WRITER and not any(map(relative_path_problem, files))
        return ExportList(str(fields["dataset"]), files) if is_own else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def old_exports(folder: Folder, digest: str) -> list[str]:
    """Return the unchanged exported files of a dataset's folder that describe another state of the dataset.

    Args:
        folder: The dataset's folder.
        digest: The digest of its manifest.
    """
    return [path for path, one in own_exports(folder).items() if path != EXPORTS and one.manifest != digest]


def own_exports(folder: Folder) -> dict[str, Exported]:
    """Return the list itself and the unchanged files of it that are in a dataset's folder, by path."""
    exports = read_export_list(folder)
    if exports is None or exports.dataset != HERE:
        return {}
    own = {
        path: one
        for path, one in exports.files.items()
        if folder.stat(path) is not None and exports.is_own(folder, path)
    }
    return {EXPORTS: Exported(None, ""), **own}
