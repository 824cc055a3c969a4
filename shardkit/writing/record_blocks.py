"""Write and hash the records of a shard in blocks."""

import hashlib
from typing import BinaryIO

BLOCK_BYTES = 1 << 20  # 1 MiB


class RecordBlocks:
    """Collects records into blocks: hashing and writing a block releases the interpreter's lock."""

    def __init__(self, file: BinaryIO) -> None:
        """Collect for a file that is open for writing."""
        self._file, self._digest = file, hashlib.sha256()
        self._block = memoryview(bytearray(BLOCK_BYTES))
        self._filled = 0
        self.num_bytes = 0

    @property
    def sha256(self) -> str:
        """The sha256 of what was flushed."""
        return self._digest.hexdigest()

    def add(self, parts: tuple[bytes, ...]) -> None:
        """Add the parts of a framed record."""
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
        """Write what is collected."""
        self._put(self._block[: self._filled])
        self._filled = 0

    def _put(self, data: memoryview) -> None:
        self._digest.update(data)
        self._file.write(data)
