"""The text of a manifest: seal one with its digest, parse one and check all that it says."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from shardkit.dataset.manifest.checks import manifest_problem
from shardkit.dataset.manifest.model import Manifest
from shardkit.errors import ManifestError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.options.words import convert_again

FORMAT_VERSION = 1
_SHOWN = 200  # characters of a value in an error


def seal_manifest(fields: dict[str, Any]) -> Manifest:
    """Return a manifest with the given fields and the ``digest`` computed from them.

    Raises:
        ManifestError: The fields contradict each other, so that no reader would accept the manifest.
    """
    unsealed = Manifest(format_version=FORMAT_VERSION, digest="0" * 64, **fields)
    if problem := manifest_problem(unsealed):
        msg = f"the manifest of {unsealed.name!r} was not written, because it would contradict itself: {problem}"
        raise ManifestError(msg)
    return unsealed.model_copy(update={"digest": digest_of(unsealed)})


def digest_of(manifest: Manifest) -> str:
    """Return the sha256 of the canonical JSON of everything but the digest."""
    return sha256_hex(canonical_json(manifest.model_dump(mode="json", exclude={"digest"})))


def parse_manifest(
    raw: bytes, *, where: str, remedy: Callable[[], str] = lambda: f"restore it or {convert_again()}"
) -> Manifest:
    """Parse and check the bytes of a manifest.

    Args:
        raw: Content of the file.
        where: Name of the file for errors.
        remedy: Function that returns what to do about a damaged manifest, as the end of a sentence.

    Raises:
        ManifestError: The manifest is damaged, of a newer format, contradicts itself, or names a path outside its
            folder.
    """
    try:
        return _parsed(raw, where)
    except _DamageError as damage:
        raise ManifestError(f"{where}: {damage}, {remedy()}") from None


class _DamageError(ValueError):
    """What is wrong with a manifest, without its name and the remedy."""


def _parsed(raw: bytes, where: str) -> Manifest:
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError) as error:
        found = "it is empty" if not raw.strip() else _shortened(error)
        raise _DamageError(f"the manifest is not JSON ({found}); it is damaged") from None
    version = fields.get("format_version") if isinstance(fields, dict) else None
    # Checked strictly: pydantic would accept "1", 1.0 and true as 1, and so a "2" would pass the check below.
    if type(version) is not int or version < 1:
        found = str(version)[:_SHOWN] if isinstance(version, int) else repr(version)[:_SHOWN]
        raise _DamageError(f"format_version is {found}, not a whole number from 1; if shardkit wrote it, it is damaged")
    if version > FORMAT_VERSION:
        found = f"manifest format {str(version)[:_SHOWN]}"
        raise ManifestError(f"{where}: {found} is newer than this shardkit's {FORMAT_VERSION}; install a newer one")
    try:
        manifest = Manifest.model_validate(fields)
        digest = digest_of(manifest)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "top level"
        raise _DamageError(f"the manifest is not valid at {field[:_SHOWN]}: {first['msg']}; it was changed") from None
    except (ValueError, RecursionError) as error:  # infinity or a lone surrogate: Python's json accepts them
        raise _DamageError(f"the manifest has a value that is not JSON ({_shortened(error)}); it is damaged") from None
    if digest != manifest.digest:
        raise _DamageError("the digest does not match the content; it was changed or damaged")
    if problem := manifest_problem(manifest):
        raise _DamageError(f"the manifest contradicts itself: {problem}; it was changed")
    return manifest


def _shortened(error: Exception) -> str:
    """Return the message of an error of Python's parser, without advice for programmers."""
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error).partition(";")[0]
