"""Build and parse names of files, shards and splits. No other module does."""

import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from shardkit.errors import CallError, ManifestError

MANIFEST = "manifest.json"
REJECTED = "rejected.parquet"
WITHDRAWN = "withdrawn.parquet"
RUN_LOG = "run-log.jsonl"
WORK_FOLDER = ".shardkit"
DATASET_FILES = frozenset({MANIFEST, RUN_LOG})  # a folder with both is a dataset of shardkit
INDEXES = "indexes"  # folder of the indexes of adopted TFRecords
_INDEX_FOLDER_DIGITS = 16
RECORDS_ENDING = ".tfrecord"
INDEX_ENDING = ".index.parquet"
# Formats that Pillow opens and people train on. Files with other endings are skipped and counted, not rejected.
IMAGE_ENDINGS = frozenset(
    {
        *(".avif", ".bmp", ".dib", ".gif", ".heic", ".heif", ".hif", ".j2k", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg"),
        *(".jpx", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"),
    }
)
# Folder of the manifests from before each append, and of tables of shards, named by their digests.
EARLIER_MANIFESTS = "manifests"


# With five digits, up to 100,000 shards of a split sort by name; larger numbers get more digits.
_SHARD = re.compile(r"(?P<split>[A-Za-z0-9_.]+)-(?P<index>[0-9]{5,})-of-(?P<of>[0-9]{5,})\.tfrecord")
_GENERATION = re.compile(r"append-(?P<number>[0-9]{4,})")
_EARLIER_MANIFEST = re.compile(r"[0-9a-f]{64}\.json")
_SHARD_TABLE = re.compile(r"[0-9a-f]{64}\.parquet")
_SPLIT = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_MAX_SPLIT = 100  # characters; file systems allow 255 bytes for the name of a shard's index
_BETWEEN_WORDS = re.compile(r"[^A-Za-z]+")
_NOT_PLAIN = re.compile(r"[^\x20-\x7e]")
_DEL = 0x7F  # the only control that json.dumps leaves in ASCII
_SPLIT_SHOWN = 80  # characters of a bad name shown in an error
_SPLIT_ALIASES = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "dev": "validation",
    "eval": "validation",
    "validate": "validation",
    "validation": "validation",
    "test": "test",
    "testing": "test",
}


@dataclass(frozen=True, slots=True)
class ShardName:
    """The names of one shard and its index: ``train-00003-of-00064.tfrecord`` and ``….index.parquet``."""

    split: str
    shard_index: int
    num_shards: int

    def __post_init__(self) -> None:
        if not 0 <= self.shard_index < self.num_shards:
            raise CallError(f"shard_index must be in [0, {self.num_shards}), found {self.shard_index}")

    @property
    def stem(self) -> str:
        """The name without its ending, as used in messages."""
        return f"{self.split}-{self.shard_index:05d}-of-{self.num_shards:05d}"

    @property
    def records(self) -> str:
        """File name of the TFRecord file."""
        return f"{self.stem}{RECORDS_ENDING}"

    @property
    def index(self) -> str:
        """File name of the index, whose presence marks the shard as complete."""
        return f"{self.stem}{INDEX_ENDING}"

    @classmethod
    def parse(cls, file_name: str) -> "ShardName":
        """Parse the file name of a shard, the inverse of ``records``.

        Raises:
            ManifestError: It is not the name of a shard.
        """
        match = _SHARD.fullmatch(file_name)
        if match and int(match["index"]) < int(match["of"]):
            name = cls(match["split"], int(match["index"]), int(match["of"]))
            if name.records == file_name:  # no superfluous zeros
                return name
        raise ManifestError(f"{file_name!r} is not a shard's name such as 'train-00003-of-00064.tfrecord'")


def generation_folder(number: int) -> str:
    """Return the name of the folder of an appended generation: ``append-0001`` for the first one."""
    return f"append-{number:04d}"


def is_generation_folder(name: str) -> bool:
    """Return whether a folder has the name of an appended generation."""
    match = _GENERATION.fullmatch(name)
    return match is not None and int(match["number"]) > 0 and generation_folder(int(match["number"])) == name


def earlier_manifest(digest: str) -> str:
    """Return the path of the manifest from before an append.

    Args:
        digest: The manifest's digest, 64 hexadecimal digits.
    """
    return f"{EARLIER_MANIFESTS}/{digest}.json"


def shard_table(sha256: str) -> str:
    """Return the path of a table of shards by its sha256, 64 hexadecimal digits."""
    return f"{EARLIER_MANIFESTS}/{sha256}.parquet"


def is_shard_table(file_name: str) -> bool:
    """Return whether a file in the folder EARLIER_MANIFESTS has the name of a table of shards."""
    return _SHARD_TABLE.fullmatch(file_name) is not None


def is_earlier_manifest(file_name: str) -> bool:
    """Return whether a file in the folder EARLIER_MANIFESTS has the name of a manifest."""
    return _EARLIER_MANIFEST.fullmatch(file_name) is not None


def index_folder(digest: str) -> str:
    """Return the name of the folder of an adoption's indexes in INDEXES."""
    return digest[:_INDEX_FOLDER_DIGITS]


def is_index_folder(name: str) -> bool:
    """Return whether a folder in INDEXES has the name of an adoption's indexes."""
    return len(name) == _INDEX_FOLDER_DIGITS and all(char in "0123456789abcdef" for char in name)


def is_shard_file(file_name: str) -> bool:
    """Return whether a file has the name of a shard or an index."""
    records = records_of_index(file_name) if file_name.endswith(INDEX_ENDING) else file_name
    return _SHARD.fullmatch(records) is not None


def is_shard_index(file_name: str) -> bool:
    """Return whether a file has the name of the index of a shard."""
    return file_name.endswith(INDEX_ENDING) and is_shard_file(file_name)


def records_of_index(index_name: str) -> str:
    """Return the file name of the shard that an index belongs to."""
    return index_name.removesuffix(INDEX_ENDING) + RECORDS_ENDING


def split_of_folder(folder_name: str) -> str | None:
    """Return the split that a folder's name means, ignoring case (``Training`` is ``train``); None if it means none."""
    return _SPLIT_ALIASES.get(folder_name.lower())


def split_name_problem(name: str) -> str | None:
    """Return why a name of a split is not allowed in a file name or in TFDS's slicing syntax; None if it is."""
    if not _SPLIT.fullmatch(name):
        return f"a split's name is a letter followed by letters, digits or '_'; found {name[:_SPLIT_SHOWN]!r}"
    if len(name) > _MAX_SPLIT:
        return f"the split {name[:_SPLIT_SHOWN]!r}… has {len(name):,} characters; at most {_MAX_SPLIT} are allowed"
    return None


def check_split_name(name: str) -> str:
    """Return the canonical name of a split: a known alias is resolved, any other name stays.

    Raises:
        CallError: The name is not allowed; see `split_name_problem`.
    """
    if problem := split_name_problem(name):
        raise CallError(problem)
    return split_of_folder(name) or name


def find_split(name: str, names: Collection[str]) -> str | None:
    """Return the one of some splits that a name means: the split of exactly this name, else the one of its alias.

    Args:
        name: A name, such as ``val``.
        names: Names of the splits.
    """
    if name in names:
        return name
    alias = split_of_folder(name)
    return alias if alias in names else None


def split_order(names: set[str]) -> list[str]:
    """Sort splits in the order of writing and printing: train, validation, test, then the others by name."""
    usual = ["train", "validation", "test"]
    return [name for name in usual if name in names] + sorted(names.difference(usual))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 shard``, ``2 shards``, ``1,024 classes``."""
    plural = f"{noun}es" if noun.endswith(("s", "x")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def first_of(texts: Sequence[str], most: int, *, more: str = "more") -> str:
    """Return texts for a message, or the first ones and how many others there are: ``a, b and 1,024 more``."""
    others = f" and {len(texts) - most:,} {more}" if len(texts) > most else ""
    return ", ".join(texts[:most]) + others


def printable(name: str) -> str:
    """Escape the characters of a key or path that cannot be printed: controls, line breaks and lone surrogates."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)


def printable_json(value: Any, *, indent: int | None = 1, only_ascii: bool = False) -> str:
    """Return JSON in which every character can be printed: those in texts that cannot are escaped.

    JSON's own rules leave DEL, the controls of C1 and those of writing directions in a text as they are, and terminals
    obey them.

    Args:
        value: The value.
        indent: Columns of the indentation; None for a single line.
        only_ascii: Whether other characters are escaped, too.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=only_ascii)
    return "\n".join(line if line.isprintable() else _NOT_PLAIN.sub(_escaped, line) for line in text.split("\n"))


def _escaped(found: re.Match[str]) -> str:
    char = found.group()
    return char if char.isprintable() else json.dumps(char)[1:-1] if ord(char) != _DEL else "\\u007f"


# Paths that are safe, found without a loop over their characters in Python; other paths may be safe, too.
PLAIN_PATH = re.compile(r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_ .-]+(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_ .-]+)*")


def relative_path_problem(path: str) -> str | None:
    """Return why a path from a manifest or label file is unsafe to open below its root; None if it is safe.

    Empty parts, ``.``, ``..``, absolute paths, drive letters, backslashes, URLs and control characters are refused,
    because their meaning differs between systems and on some of them they leave the root.
    """
    if PLAIN_PATH.fullmatch(path):
        return None
    if not path:
        return "it is empty"
    if path.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        return "it is absolute"
    if "\\" in path:
        return "it holds a backslash"
    if any(part in {"", ".", ".."} for part in path.split("/")):
        return "it holds an empty, '.' or '..' part"
    if any(unicodedata.category(char) == "Cc" for char in path):
        return "it holds a control character"
    return None


def split_of_path(path: str) -> str | None:
    """Return the split of the nearest folder with a split's name, else of the file name's words; None for neither.

    A file name with words for two splits has none.
    """
    *folders, name = path.split("/")
    for folder in reversed(folders):
        if split := split_of_folder(folder):
            return split
    found = {split for word in _BETWEEN_WORDS.split(name) if (split := split_of_folder(word))}
    return found.pop() if len(found) == 1 else None
