"""The one place that forms and reads names: splits, shards, indexes, keys."""

import re
import unicodedata
from dataclasses import dataclass

from shardkit.errors import CallError, ManifestError

MANIFEST = "manifest.json"
REJECTED = "rejected.parquet"
RUN_LOG = "run-log.jsonl"
WORK_FOLDER = ".shardkit"
RECORDS_ENDING = ".tfrecord"
INDEX_ENDING = ".index.parquet"

# Layouts of sources, as `--layout` takes them.
LAYOUTS = (
    "class-folders",
    "file-names",
    "table",
    "metadata",
    "coco",
    "voc",
    "yolo",
    "masks",
    "webdataset",
    "hf-parquet",
)

# Five digits sort well up to 100,000 shards of a split; wider numbers are written out in full.
_SHARD = re.compile(r"(?P<split>[A-Za-z0-9_.]+)-(?P<index>[0-9]{5,})-of-(?P<of>[0-9]{5,})\.tfrecord")
_SPLIT = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_MAX_SPLIT = 100  # characters: file systems allow 255 bytes for the name of a shard's index
_SPLIT_SHOWN = 80  # characters of a bad one
_SPLIT_ALIASES = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "dev": "validation",
    "validation": "validation",
    "test": "test",
    "testing": "test",
}


@dataclass(frozen=True, slots=True)
class ShardName:
    """Names of one shard and of its index: ``train-00003-of-00064.tfrecord`` and ``….index.parquet``."""

    split: str
    shard_index: int
    num_shards: int

    def __post_init__(self) -> None:
        if not 0 <= self.shard_index < self.num_shards:
            msg = f"shard_index must be in [0, {self.num_shards}), found {self.shard_index}"
            raise CallError(msg)

    @property
    def stem(self) -> str:
        """The name without its ending; also what the shard is called in messages."""
        return f"{self.split}-{self.shard_index:05d}-of-{self.num_shards:05d}"

    @property
    def records(self) -> str:
        """File name of the TFRecord."""
        return f"{self.stem}{RECORDS_ENDING}"

    @property
    def index(self) -> str:
        """File name of the index, which is also the shard's done mark."""
        return f"{self.stem}{INDEX_ENDING}"

    @classmethod
    def parse(cls, file_name: str) -> "ShardName":
        """The inverse of ``records``.

        Raises:
            ManifestError: the name is not of that form.
        """
        match = _SHARD.fullmatch(file_name)
        if match and int(match["index"]) < int(match["of"]):
            name = cls(match["split"], int(match["index"]), int(match["of"]))
            if name.records == file_name:  # no zeros too many
                return name
        msg = f"{file_name!r} is not a shard's name such as 'train-00003-of-00064.tfrecord'"
        raise ManifestError(msg)


def is_shard_file(file_name: str) -> bool:
    """Whether a file is named like a shard or an index."""
    records = records_of_index(file_name) if file_name.endswith(INDEX_ENDING) else file_name
    return _SHARD.fullmatch(records) is not None


def records_of_index(index_name: str) -> str:
    """Return the file name of the shard that an index belongs to."""
    return index_name.removesuffix(INDEX_ENDING) + RECORDS_ENDING


def split_of_folder(folder_name: str) -> str | None:
    """The split that a folder's name stands for, in any case (``Training`` is ``train``); None for any other name."""
    return _SPLIT_ALIASES.get(folder_name.lower())


def check_split_name(name: str) -> str:
    """Return the split's canonical name: a known alias resolved, any other name as it is.

    Raises:
        CallError: the name cannot stand in a file's name or in TFDS's slicing syntax.
    """
    if not _SPLIT.fullmatch(name):
        msg = f"a split's name is a letter followed by letters, digits or '_'; found {name[:_SPLIT_SHOWN]!r}"
        raise CallError(msg)
    if len(name) > _MAX_SPLIT:
        msg = f"the split {name[:_SPLIT_SHOWN]!r}… has {len(name):,} characters; at most {_MAX_SPLIT} are allowed"
        raise CallError(msg)
    return split_of_folder(name) or name


def split_order(names: set[str]) -> list[str]:
    """Splits in the order in which they are written and printed: train, validation, test, then others by name."""
    usual = ["train", "validation", "test"]
    return [name for name in usual if name in names] + sorted(names.difference(usual))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 shard``, ``2 shards``, ``1,024 classes``."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def printable(name: str) -> str:
    """A key or a path as it may be shown: what would move the cursor, break the line or not encode is escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)


def relative_path_problem(path: str) -> str | None:
    """Why a path from a manifest or label file may not be followed below its root, or None where it may.

    Empty parts, ``.``, ``..``, absolute paths, drive letters, backslashes, URLs and control characters are refused:
    what they mean differs between systems, and on some of them they leave the root.
    """
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
