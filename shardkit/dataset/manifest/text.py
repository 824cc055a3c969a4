"""The text of a manifest: seal one with its digest, write it, parse one and check all that it says."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from shardkit import naming
from shardkit.dataset.manifest import shard_tables
from shardkit.dataset.manifest.checks import manifest_problem
from shardkit.dataset.manifest.model import Manifest
from shardkit.errors import ManifestError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.options.words import convert_again
from shardkit.storage import Folder, unreadable

# A manifest has the lowest version whose readers understand it, so that most stay readable for everybody: 2 has tables
# of shards, 3 has images without a label, which readers of version 2 would take for a damaged index.
FORMAT_VERSION = 3
_SHOWN = 200  # characters of a value in an error


def seal_manifest(fields: dict[str, Any]) -> Manifest:
    """Return a manifest with the given fields and the ``digest`` computed from them.

    Raises:
        ManifestError: The fields contradict each other, so that no reader would accept the manifest.
    """
    unsealed = Manifest(format_version=1, digest="0" * 64, **fields)
    if problem := manifest_problem(unsealed):
        msg = f"the manifest of {unsealed.name!r} was not written, because it would contradict itself: {problem}"
        raise ManifestError(msg)
    if sum(len(split.shards) for split in unsealed.splits.values()) > shard_tables.LISTED_SHARDS:
        splits = {
            name: split.model_copy(update={"shard_table": shard_tables.table_of(split.shards)})
            for name, split in unsealed.splits.items()
        }
        unsealed = unsealed.model_copy(update={"splits": splits})
    unsealed = unsealed.model_copy(update={"format_version": _version_of(unsealed)})
    return unsealed.model_copy(update={"digest": digest_of(unsealed)})


def _version_of(manifest: Manifest) -> int:
    if manifest.num_unlabelled:
        return 3
    return 2 if manifest.shard_tables else 1


def write_shard_tables(root: Folder, manifest: Manifest) -> None:
    """Write the tables of shards that a manifest names, and remove others unless an append keeps earlier manifests.

    Call it before the manifest is written.

    Args:
        root: The folder that the manifest will be in.
        manifest: The manifest.
    """
    tables = manifest.shard_tables
    if not manifest.generations:
        named = {table.path for table in tables.values()}
        for entry in root.scan(naming.EARLIER_MANIFESTS):
            path = f"{naming.EARLIER_MANIFESTS}/{entry.name}"
            if naming.is_shard_table(entry.name) and path not in named:
                root.remove(path)
    for name, table in tables.items():
        there = root.stat(table.path)
        if there is None or there.num_bytes != table.num_bytes:
            with root.atomic_write(table.path) as file:
                file.write(shard_tables.serialize_shards(manifest.splits[name].shards))


def digest_of(manifest: Manifest) -> str:
    """Return the sha256 of the canonical JSON of everything in the file but the digest.

    The hash of a table of shards stands for these.
    """
    return sha256_hex(canonical_json(manifest.model_dump(mode="json", exclude={"digest"})))


def parse_manifest(
    raw: bytes, root: Folder, *, where: str, remedy: Callable[[], str] = lambda: f"restore it or {convert_again()}"
) -> Manifest:
    """Parse and check the bytes of a manifest, and read its tables of shards.

    Args:
        raw: Content of the file.
        root: The dataset's folder.
        where: Name of the file for errors.
        remedy: Function that returns what to do about a damaged manifest, as the end of a sentence.

    Raises:
        ManifestError: The manifest is damaged, of a newer format, contradicts itself, or names a path outside its
            folder.
        MachineError: A table of shards cannot be read.
    """
    try:
        return _parsed(raw, root, where)
    except _DamageError as damage:
        raise ManifestError(f"{where}: {damage}, {remedy()}") from None


class _DamageError(ValueError):
    """What is wrong with a manifest, without its name and the remedy."""


def _parsed(raw: bytes, root: Folder, where: str) -> Manifest:
    try:
        # At 200 levels it gives up by itself. Python's parser goes on to the interpreter's limit, where whatever is
        # collected as garbage fails too, and says so on the terminal.
        fields = from_json(raw)
    except ValueError as error:
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
    except ValueError as error:  # infinity: the parser accepts it
        raise _DamageError(f"the manifest has a value that is not JSON ({_shortened(error)}); it is damaged") from None
    if digest != manifest.digest:
        raise _DamageError("the digest does not match the content; it was changed or damaged")
    _take_tables(manifest, root, where)
    if problem := manifest_problem(manifest):
        raise _DamageError(f"the manifest contradicts itself: {problem}; it was changed")
    return manifest


def _take_tables(manifest: Manifest, root: Folder, where: str) -> None:
    tables = manifest.shard_tables
    if manifest.format_version != _version_of(manifest):
        raise _DamageError(
            f"format_version is {manifest.format_version}, and {len(tables)} splits have shard_table; it was changed"
        )
    if any(manifest.splits[name].shards for name in tables):
        raise _DamageError("a split has shards and shard_table; it was changed")
    try:
        problem = manifest.take_shards({name: shard_tables.read_shards(root, table) for name, table in tables.items()})
    except ManifestError as error:
        raise _DamageError(str(error)) from None
    except OSError as error:
        raise unreadable(where, error) from error
    if problem is not None:
        raise _DamageError(f"a table of shards is not valid: {problem}; it was changed")


def _shortened(error: Exception) -> str:
    """Return the message of a parser's error, without advice for programmers."""
    return "it is nested too deeply" if "recursion limit" in str(error) else str(error).partition(";")[0]
