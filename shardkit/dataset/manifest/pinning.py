"""Pin a dataset to the manifest with a digest: ``OUT@sha256:…``.

An append keeps the manifest from before it under its digest, so that a trainer that pins the digest goes on with the
examples that it began with.
"""

import re
from collections.abc import Sequence

from shardkit import naming
from shardkit.errors import CallError, ManifestError
from shardkit.storage import Folder, unreadable

_PIN = "@sha256:"
_DIGEST = re.compile("[0-9a-f]{64}")
_DIGESTS_SHOWN = 5


def pinned(path: str) -> tuple[str, str | None]:
    """Return the path of a dataset without its pin, and the pinned digest; None if nothing is pinned.

    Args:
        path: The path, such as ``OUT`` or ``OUT@sha256:…`` with the digest of a manifest.

    Raises:
        CallError: What follows ``@sha256:`` is not a digest.
    """
    folder, pin, digest = path.rpartition(_PIN)
    if not pin:
        return path, None
    if not _DIGEST.fullmatch(digest):
        msg = f"{path}: after @sha256: comes the digest of a manifest, 64 hexadecimal digits; found {digest!r}"
        raise CallError(msg)
    return folder, digest


def refuse_pinned(option: str, path: str) -> None:
    """Refuse a pin where something is written: a dataset with an earlier manifest is only read.

    Args:
        option: The name of the argument.
        path: Its value.

    Raises:
        CallError: The path ends in a pin.
    """
    folder, digest = pinned(path)
    if digest is not None:
        msg = f"{option} is {path}, and a pin is for reading a dataset as it was; write into {folder} or a new folder"
        raise CallError(msg)


def read_earlier(root: Folder, digest: str, known: Sequence[str | None]) -> tuple[bytes, str]:
    """Return the bytes and the path of the manifest with a digest, from before an append.

    Args:
        root: The dataset's folder.
        digest: The digest.
        known: The digests that the dataset has had.

    Raises:
        ManifestError: The dataset has no such manifest; the message has the digests that it has.
        MachineError: It cannot be read.
    """
    where = f"{root.url}/{naming.earlier_manifest(digest)}"
    try:
        return root.read(naming.earlier_manifest(digest)), where
    except (FileNotFoundError, NotADirectoryError):
        if digest in known:  # also if the whole folder was lost, as by a copy of the files next to it
            raise ManifestError(
                f"{where}: the manifest from before an append is missing; restore the folder "
                f"{naming.EARLIER_MANIFESTS} from a copy, or read the dataset without the pin, with all that was "
                "appended"
            ) from None
        some = ", ".join(one for one in known[-_DIGESTS_SHOWN:] if one)
        msg = f"{root.url}: the dataset has no manifest with the digest {digest}; it has {some}"
        raise ManifestError(msg) from None
    except OSError as error:
        raise unreadable(where, error) from error
