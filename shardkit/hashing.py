"""Stable hashes: for a given seed and purpose they never change and are the same on every machine.

BLAKE2b (RFC 7693) decides splits and positions. SHA-256 identifies contents, because other tools print it too.
"""

import hashlib
import io
from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

MAX_SEED = (1 << 63) - 1
_READ_BYTES = 1 << 20  # 1 MiB
COLUMN_BLOCK = 1 << 18  # values converted to Python objects at once


def hash64(values: Iterable[str | bytes], *, seed: int, purpose: str) -> npt.NDArray[np.uint64]:
    """Hash each value to 64 bits, uniformly.

    Args:
        values: Strings (hashed as UTF-8, including lone surrogates) or bytes.
        seed: Seed, 0 to 2**63 - 1; hashes of different seeds are independent.
        purpose: Up to 16 ASCII characters. Hashes for different purposes are independent, so that an example's split
            is independent of its position in a shard.
    """
    keyed = hashlib.blake2b(digest_size=8, key=seed.to_bytes(8, "little"), person=purpose.encode("ascii"))
    copy, digests = keyed.copy, []
    for value in values:
        state = copy()
        state.update(value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape"))
        digests.append(state.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64, copy=False)


def hash64_column(column: Any, *, seed: int, purpose: str) -> npt.NDArray[np.uint64]:
    """Return `hash64` of every value of a column of strings or bytes, in bounded memory.

    Args:
        column: An Arrow column, or an object with its `__len__` and `slice`.
        seed: See hash64.
        purpose: See hash64.
    """
    hashes = np.empty(len(column), np.uint64)
    for start in range(0, len(column), COLUMN_BLOCK):
        values = column.slice(start, COLUMN_BLOCK).to_pylist()
        hashes[start : start + len(values)] = hash64(values, seed=seed, purpose=purpose)
    return hashes


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of data as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: Any) -> bytes:
    """Serialize a value as canonical JSON (sorted keys, no spaces, UTF-8): equal values have equal bytes."""
    import json

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


class HashedFile(io.RawIOBase):
    """A file that is hashed while it is read, from its start.

    Attributes:
        num_bytes: Number of bytes read so far.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._digest = file, hashlib.sha256()
        self.num_bytes = 0

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes read so far, in hexadecimal."""
        return self._digest.hexdigest()

    def buffered(self) -> io.BufferedReader:
        """Return the file to read from: in blocks, because hashing one releases the interpreter's lock."""
        return io.BufferedReader(self, _READ_BYTES)

    def readable(self) -> bool:
        """See RawIOBase."""
        return True

    def readinto(self, buffer: Any) -> int:
        """See RawIOBase."""
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._digest.update(data)
        self.num_bytes += len(data)
        return len(data)
