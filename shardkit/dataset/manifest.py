"""The manifest: the description of a dataset, written last, so that its presence means a complete dataset."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import (
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from shardkit import naming
from shardkit.dataset.features import Feature
from shardkit.dataset.manifest_checks import manifest_problem
from shardkit.dataset.manifest_parts import (
    Balance,
    Count,
    File,
    Generation,
    GenerationSplit,
    Index,
    Part,
    Rejected,
    Sha256,
    Shard,
    Source,
    Split,
)
from shardkit.dataset.missing_manifest import DAMAGE_REMEDY, damage_remedy, explain_missing_manifest, is_own_folder
from shardkit.dataset.pinning import pinned, read_earlier
from shardkit.dataset.records_root import check_records_root, records_root_problem, shard_path_problem
from shardkit.dataset.stored_names import stored_as_problem
from shardkit.errors import DataError, ManifestError, SpecialFileError, UnknownNameError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.storage import Folder, open_folder, unreadable

__all__ = [
    "Balance",
    "File",
    "Index",
    "Manifest",
    "Rejected",
    "Shard",
    "Source",
    "Split",
    "dataset_folder",
    "digest_of",
    "find_dataset",
    "parse_manifest",
    "read_manifest",
    "seal_manifest",
]

FORMAT_VERSION = 2
# Manifests without generations keep version 1, so that older versions of shardkit read them.
_WITHOUT_GENERATIONS = 1
MAX_MANIFEST_BYTES = 256 << 20  # 256 MiB: some 500,000 shards
_FAULTS_OF_DISKS = {errno.EIO, errno.ESTALE, errno.ETIMEDOUT}  # others mean that there is no such file
_SHOWN = 200  # characters of a value in an error
ADOPTED = "adopted TFRecords"  # the layout in `source`
_OMITTED_IF_EMPTY = {"stored_as", "records_root", "withdrawn", "generations"}


class Manifest(Part):
    """The whole manifest.

    ``plan_digest`` identifies the plan from which all shards were written; every index repeats it. ``root``, the folder
    that the manifest was read from, is not part of the file.

    ``generations`` is in the file only after an append. Then ``splits``, ``classes``, ``files``, ``source`` and
    ``rejected`` describe all generations together, and ``options``, ``plan_digest`` and ``software`` are the first
    one's.

    ``withdrawn`` is the number of examples in the lists ``withdrawn.parquet``; see the module of that name. Only a
    manifest with such a list has it.

    ``stored_as`` (see `stored_names`) and ``records_root`` (see the module of that name) belong to TFRecords that were
    adopted; other manifests lack them.
    """

    format_version: int
    name: str
    features: dict[str, Feature]
    classes: list[str]
    splits: dict[str, Split]
    source: Source
    options: dict[str, Any]
    plan_digest: Sha256
    rejected: Rejected
    files: list[File]
    software: dict[str, str]
    stored_as: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    records_root: str | None = None
    withdrawn: Count = 0
    digest: Sha256
    generations: list[Generation] = Field(default_factory=list)

    _root: Folder | None = PrivateAttr(default=None)

    @model_serializer(mode="wrap")
    def _without_absent(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialise(self)
        return {name: value for name, value in fields.items() if value or name not in _OMITTED_IF_EMPTY}

    @model_validator(mode="after")
    def _with_valid_paths(self) -> "Manifest":
        problem = records_root_problem(self.records_root) or stored_as_problem(self.stored_as, self.features)
        for name, split in self.splits.items():
            for number, shard in enumerate(split.shards):
                if found := shard_path_problem(shard.path, self.records_root):
                    problem = problem or f"splits.{name}.shards.{number}.path: {found}"
                shard.set_num_classes(len(self.classes))
        if problem is not None:
            raise ValueError(problem)
        return self

    @property
    def is_adopted(self) -> bool:
        """Whether the records were written by others and adopted as they are."""
        return self.source.layout == ADOPTED

    @property
    def root(self) -> Folder:
        """The dataset's folder."""
        if self._root is None:
            msg = "this manifest was made in memory; only one that was read from a folder has a root"
            raise ManifestError(msg)
        return self._root

    def split(self, name: str) -> Split:
        """Return a split by name; see `split_name`.

        Raises:
            UnknownNameError: There is no such split; the message lists the existing ones.
        """
        return self.splits[self.split_name(name)]

    def split_name(self, name: str) -> str:
        """Return the name of the split that a word means: ``val`` is ``validation`` unless a split has that very name.

        Raises:
            UnknownNameError: There is no such split; the message lists the existing ones.
        """
        found = naming.find_split(name, self.splits)
        if found is None:
            msg = f"there is no split {name!r}; the dataset has {', '.join(self.splits)}"
            raise UnknownNameError(msg)
        return found

    def shards(self) -> Iterator[tuple[str, Shard]]:
        """Iterate over (split name, shard), in order."""
        return ((name, shard) for name, split in self.splits.items() for shard in split.shards)

    @property
    def records_place(self) -> str | None:
        """The folder of the TFRecords if it is not in the dataset's own, for messages."""
        return None if self.records_root is None else os.path.normpath(f"{self.root.url}/{self.records_root}")

    def check_records(self, root: Folder, *, where: str) -> None:
        """Check that the shards lie below `records_root`, if there is one; see `records_root.check_records_root`.

        Args:
            root: The dataset's folder.
            where: Name of the manifest for errors.

        Raises:
            ManifestError: They do not.
        """
        if self.records_root is not None:
            paths = (shard.path for _, shard in self.shards())
            check_records_root(root, self.records_root, paths, where=where)

    def path_in_records(self, shard: Shard) -> str:
        """Return the path of a shard relative to the folder of the records."""
        return shard.path if self.records_root is None else shard.path.removeprefix(f"{self.records_root}/")

    @property
    def num_with_gps(self) -> int:
        """Number of stored images whose metadata holds a GPS position."""
        return sum(shard.num_with_gps for _, shard in self.shards())

    @property
    def history(self) -> list[Generation]:
        """All generations, also of a dataset to which nothing was appended: the first conversion comes first."""
        if self.generations:
            return self.generations
        splits = {
            name: GenerationSplit(
                num_examples=split.num_examples,
                num_bytes=split.num_bytes,
                num_shards=len(split.shards),
                balance=split.balance,
            )
            for name, split in self.splits.items()
        }
        first = Generation(
            folder=None,
            previous=None,
            num_classes=len(self.classes),
            splits=splits,
            source=self.source,
            options=self.options,
            plan_digest=self.plan_digest,
            rejected=self.rejected,
            software=self.software,
        )
        return [first]

    def plan_digest_of(self, shard: Shard) -> str:
        """Return the digest of the plan that a shard was written from; its index repeats it."""
        folder = shard.path.rpartition("/")[0]
        found = [one.plan_digest for one in self.generations if (one.folder or "") == folder]
        return found[0] if found else self.plan_digest

    def to_bytes(self) -> bytes:
        """Return the only valid text of this manifest; `verify` compares the file with it."""
        return json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False).encode() + b"\n"


def seal_manifest(fields: dict[str, Any]) -> Manifest:
    """Return a manifest with the given fields and the ``digest`` computed from them.

    Raises:
        ManifestError: The fields contradict each other, so that no reader would accept the manifest.
    """
    version = FORMAT_VERSION if fields.get("generations") else _WITHOUT_GENERATIONS
    unsealed = Manifest(format_version=version, digest="0" * 64, **fields)
    if problem := manifest_problem(unsealed):
        msg = f"the manifest of {unsealed.name!r} was not written, because it would contradict itself: {problem}"
        raise ManifestError(msg)
    return unsealed.model_copy(update={"digest": digest_of(unsealed)})


def digest_of(manifest: Manifest) -> str:
    """Return the sha256 of the canonical JSON of everything but the digest."""
    return sha256_hex(canonical_json(manifest.model_dump(mode="json", exclude={"digest"})))


def dataset_folder(path: str) -> Folder:
    """Open the folder of a dataset, given by its own path or that of its ``manifest.json``, with or without a pin."""
    path, _ = pinned(path)
    folder, slash, last = path.rpartition("/")
    return open_folder(folder + slash or "." if last == naming.MANIFEST else path)


def read_manifest(path: str) -> Manifest:
    """Read the manifest of a dataset.

    Args:
        path: The dataset's folder, local or s3:// or gs://, or its ``manifest.json``. ``OUT@sha256:…`` with the digest
            of a manifest is the dataset as it was with that manifest, before later appends.

    Raises:
        CallError: What follows ``@sha256:`` is not a digest.
        ManifestError: There is no manifest, it is damaged or of a newer format, it names a path outside its folder, or
            the dataset never had the pinned manifest.
        MachineError: It cannot be read.
    """
    root, digest = dataset_folder(str(path)), pinned(str(path))[1]
    where = f"{root.url}/{naming.MANIFEST}"
    try:
        raw = manifest_bytes(root)
    except (FileNotFoundError, NotADirectoryError):
        raise ManifestError(f"{where}: there is no manifest here; {explain_missing_manifest(root)}") from None
    except OSError as error:
        raise unreadable(where, error) from error
    manifest = parse_manifest(raw, where=where, remedy=lambda: damage_remedy(root))
    if digest is not None and manifest.digest != digest:
        raw, where = read_earlier(root, digest, [one.previous for one in manifest.generations] + [manifest.digest])
        manifest = parse_manifest(raw, where=where, remedy=lambda: "restore it from a copy")
    manifest.check_records(root, where=where)
    manifest._root = root  # noqa: SLF001 - only reading sets it
    return manifest


def manifest_bytes(root: Folder) -> bytes:
    """Return the text of a dataset's manifest.

    Raises:
        ManifestError: The file is too large for a manifest.
        OSError: It is missing, or it cannot be read.
    """
    try:
        return root.read_at_most(naming.MANIFEST, MAX_MANIFEST_BYTES)
    except SpecialFileError:
        raise
    except DataError as error:
        raise ManifestError(f"{error}; it is damaged, {damage_remedy(root)}") from None


def find_dataset(path: str) -> Manifest | None:
    """Return the manifest of the dataset at a path; None if something else is there.

    Raises:
        ManifestError: The manifest is damaged or of a newer format, and it or the files next to it are shardkit's.
        MachineError: There is a manifest.json that may not be read.
    """
    root = dataset_folder(path)
    try:
        raw = manifest_bytes(root)
    except DataError:
        raw = b""  # too large, or no regular file
    except OSError as error:
        if isinstance(error, PermissionError) or error.errno in _FAULTS_OF_DISKS:
            raise unreadable(f"{root.url}/{naming.MANIFEST}", error) from error
        return None
    except ValueError:  # no path
        return None
    # Other programs write a manifest.json too. A damaged one is ours if the files next to it are.
    return read_manifest(path) if _is_own(raw) or is_own_folder(root) else None


def _is_own(raw: bytes) -> bool:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "plan_digest" in found


def parse_manifest(raw: bytes, *, where: str, remedy: Callable[[], str] = lambda: DAMAGE_REMEDY) -> Manifest:
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
        msg = f"{where}: {damage}, {remedy()}"
        raise ManifestError(msg) from None


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
        msg = f"{where}: {found} is newer than this shardkit's {FORMAT_VERSION}; install a newer one"
        raise ManifestError(msg)
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
