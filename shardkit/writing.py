"""Write one shard: read, normalise, encode and frame its examples in plan order, then its index as the done mark.

Memory is bounded by one image, not by the shard. Running it twice, at once or one after the other, gives the same
files.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO, NamedTuple

import google_crc32c
import pyarrow as pa

from shardkit import example, images, naming, tfrecord
from shardkit.errors import DataError, MachineError, SourceChangedError
from shardkit.index import SCHEMA as INDEX_SCHEMA
from shardkit.index import ShardSummary, key_hashes, serialise
from shardkit.planning.plan import Late
from shardkit.planning.plan_file import ShardTask, read_shard_rows
from shardkit.storage import Folder

REPORTS = f"{naming.WORK_FOLDER}/shards"
BLOCK_BYTES = 1 << 20  # 1 MiB
JPEG_START = b"\xff\xd8"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What every shard is written with."""

    classes: tuple[str, ...]
    resize: int | None
    quality: int


@dataclass(frozen=True, slots=True)
class ShardReport:
    """How writing a shard ended, as data: late rejects, or the error that stopped it and whose fault it was."""

    rejected: tuple[Late, ...] = ()
    error: str = ""
    exit_code: int = 0

    def to_bytes(self) -> bytes:
        """The report as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> "ShardReport":
        """The inverse of ``to_bytes``."""
        fields = json.loads(raw)
        return cls(**{**fields, "rejected": tuple(Late(**late) for late in fields["rejected"])})


def report_path(name: naming.ShardName) -> str:
    """Where a shard's report lies; there is one only if there is something to report."""
    return f"{REPORTS}/{name.stem}.json"


def read_reports(output: Folder) -> list[ShardReport]:
    """Every report there is, by the shard's name."""
    return [ShardReport.from_bytes(output.read(f"{REPORTS}/{entry.name}")) for entry in output.scan(REPORTS)]


def forget_reports(output: Folder, names: list[naming.ShardName]) -> None:
    """Remove what an earlier run reported of shards that are to be written again."""
    there = {entry.name for entry in output.scan(REPORTS)}
    for name in names:
        if f"{name.stem}.json" in there:
            output.remove(report_path(name))


def write_shard(source: Folder, output: Folder, task: ShardTask, options: WriteOptions) -> None:
    """Write a shard and its index, unless they are there already; what goes wrong is reported as data, not raised."""
    if is_done(output, task.name):
        return
    try:
        _write(source, output, task, options)
    except (DataError, OSError, MemoryError) as error:
        # A worker's exception would reach the user as kilobytes of a runner's traceback, and as one of many.
        said = str(error) or "no memory left"  # what a MemoryError says
        fault, text = MachineError.exit_code, f"{output.url}/{task.name.records}: cannot write: {said}"
        if isinstance(error, DataError):
            fault, text = error.exit_code, str(error)
        _report(output, task.name, ShardReport(error=text, exit_code=fault))


def is_done(output: Folder, name: naming.ShardName) -> bool:
    """Whether the shard and its done mark are there."""
    return output.stat(name.index) is not None and output.stat(name.records) is not None


def _report(output: Folder, name: naming.ShardName, report: ShardReport) -> None:
    with output.writing(report_path(name)) as file:
        file.write(report.to_bytes())


def _write(source: Folder, output: Folder, task: ShardTask, options: WriteOptions) -> None:
    late: list[Late] = []
    indexed: list[_Indexed] = []
    with output.writing(task.name.records) as file:
        shard = _Blocks(file)
        for row in _rows(read_shard_rows(output, task.row_group)):
            try:
                raw, content_sha256 = _read(source, row)
                info = row.info or images.inspect(raw)
                image = images.normalise(raw, info, shorter_side=options.resize, quality=options.quality)
            except images.BadImage as error:
                if row.info is not None:
                    msg = f"{source.url}/{row.key}: passed its check, yet cannot be normalised: {error}"
                    raise DataError(msg) from error
                late.append(Late(row.key, error.reason, str(error), row.source_bytes))
                continue
            record, image_end = example.encode_located(
                {
                    "height": example.int64_feature((image.height,)),
                    "image": example.bytes_feature([image.data]),
                    "key": example.bytes_feature([row.key.encode()]),
                    "label": example.int64_feature((row.label,)),
                    "width": example.int64_feature((image.width,)),
                },
                "image",
            )
            indexed.append(
                _Indexed(
                    offset=shard.num_bytes,
                    length=len(record),
                    key=row.key,
                    label=row.label,
                    label_name=options.classes[row.label],
                    height=image.height,
                    width=image.width,
                    format="JPEG" if image.data.startswith(JPEG_START) else "PNG",
                    image_start=image_end - len(image.data),
                    image_bytes=len(image.data),
                    source_bytes=len(raw),
                    content_sha256=content_sha256,
                    changes=",".join(image.changes),
                )
            )
            shard.add(tfrecord.frame(record))
        shard.flush()
    if late:
        # Before the done mark: a crash between the two writes the report again rather than losing it.
        _report(output, task.name, ShardReport(rejected=tuple(late)))
    columns: dict[str, Any] = dict(zip(_Indexed._fields, zip(*indexed, strict=True), strict=True)) if indexed else {}
    columns["key_hash"] = key_hashes(columns.get("key", ()))
    columns["group"] = [None] * len(indexed)
    arrays = [pa.array(columns.get(field.name, ()), field.type) for field in INDEX_SCHEMA]
    summary = ShardSummary(num_examples=len(indexed), num_bytes=shard.num_bytes, sha256=shard.sha256)
    with output.writing(task.name.index) as file:
        file.write(serialise(pa.Table.from_arrays(arrays, schema=INDEX_SCHEMA), summary))


class _Blocks:
    """Gathers records into blocks: hashing and writing those releases the interpreter's lock."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._digest = file, hashlib.sha256()
        self._block = memoryview(bytearray(BLOCK_BYTES))
        self._filled = 0
        self.num_bytes = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def add(self, parts: tuple[bytes, ...]) -> None:
        for part in parts:
            end = self._filled + len(part)
            if end > BLOCK_BYTES:
                self.flush()
                end = len(part)
            if end > BLOCK_BYTES:
                self._put(memoryview(part))
            else:
                self._block[self._filled : end] = part
                self._filled = end
            self.num_bytes += len(part)

    def flush(self) -> None:
        self._put(self._block[: self._filled])
        self._filled = 0

    def _put(self, data: memoryview) -> None:
        self._digest.update(data)
        self._file.write(data)


class _Indexed(NamedTuple):
    offset: int
    length: int
    key: str
    label: int
    label_name: str
    height: int
    width: int
    format: str
    image_start: int
    image_bytes: int
    source_bytes: int
    content_sha256: bytes
    changes: str


class _Row(NamedTuple):
    key: str
    source_bytes: int
    label: int
    info: images.ImageInfo | None  # None: not looked at before, ``--check header``
    content_sha256: bytes | None
    content_crc32c: int | None


def _rows(table: pa.Table) -> Iterator[_Row]:
    keys = table["key"].to_pylist()
    sizes, labels = table["source_bytes"].to_numpy().tolist(), table["label"].to_numpy().tolist()
    if table["content_crc32c"].null_count:
        for key, size, label in zip(keys, sizes, labels, strict=True):
            yield _Row(key, size, label, None, None, None)
        return
    looked = [table[name].to_pylist() for name in ("format", "width", "height", "orientation", "changes")]
    checks = [table[name].to_pylist() for name in ("content_sha256", "content_crc32c")]
    for key, size, label, kind, width, height, orientation, changes, *check in zip(
        keys, sizes, labels, *looked, *checks, strict=True
    ):
        codes = tuple(changes.split(",")) if changes else ()
        yield _Row(key, size, label, images.ImageInfo(kind, width, height, orientation, codes), *check)


def _read(source: Folder, row: _Row) -> tuple[bytes, bytes]:
    where = f"{source.url}/{row.key}"
    try:
        raw = source.read(row.key)
    except OSError as error:
        found = f"cannot be read: {error.strerror or error}"
        if row.info is None:
            raise images.BadImage("unreadable", f"The file {found}.") from error
        msg = f"{where}: was good when it was checked and now {found}; convert again when the source is at rest"
        raise SourceChangedError(msg) from error
    if row.content_sha256 is None:
        return raw, hashlib.sha256(raw).digest()
    if len(raw) != row.source_bytes or google_crc32c.value(raw) != row.content_crc32c:
        msg = f"{where}: the file has changed since it was checked; convert again when the source is at rest"
        raise SourceChangedError(msg)
    return raw, row.content_sha256
