"""The list of examples that were removed from a dataset, `withdrawn.parquet`: keyed hashes, by which they stay out.

A dataset may not name what was removed from it, and has to recognise it when its old source is appended again. So it
has hashes of the keys and of the contents, with a salt that follows from the digest of the dataset that was converted:
no two datasets have the same hashes, and no table of hashes fits. If you have the dataset and a name or a file, you can
still test whether it was removed, as `append` does; names that can be guessed can be found by trying them.
"""

import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shardkit.dataset.manifest import Manifest
from shardkit.dataset.rejected_list import read_list
from shardkit.errors import DataError
from shardkit.hashing import sha256_hex
from shardkit.naming import WITHDRAWN

_HASH_BYTES = 16
_HASH = pa.binary(_HASH_BYTES)
SCHEMA = pa.schema([pa.field(name, _HASH, nullable=False) for name in ("salt", "key_hash", "content_hash")])


def salt_of(digests: Iterable[str]) -> bytes:
    """Return the salt for examples that are removed from datasets with these digests."""
    return bytes.fromhex(sha256_hex(",".join(["withdrawn", *digests]).encode()))[:_HASH_BYTES]


def withdrawn_table(salt: bytes, keys: Iterable[str], contents: Iterable[bytes]) -> pa.Table:
    """Return the rows of removed examples.

    Args:
        salt: See salt_of.
        keys: Their keys.
        contents: The sha256 of their raw files.
    """
    hashes = {
        "key_hash": [_key_hash(salt, key) for key in keys],
        "content_hash": [_keyed(salt, b"content", content) for content in contents],
    }
    return pa.table({"salt": [salt] * len(hashes["key_hash"]), **hashes}, SCHEMA)


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of several tables, each once, sorted: their order says nothing about the keys."""
    table = pa.concat_tables([SCHEMA.empty_table(), *tables])
    order = [(name, "ascending") for name in SCHEMA.names]
    return (
        table.group_by(SCHEMA.names, use_threads=False).aggregate([]).select(SCHEMA.names).cast(SCHEMA).sort_by(order)
    )


def withdrawn_parquet(table: pa.Table) -> bytes:
    """Return the bytes of `withdrawn.parquet`."""
    out = io.BytesIO()
    pq.write_table(table, out, compression="none", use_dictionary=["salt"])
    return out.getvalue()


def read_withdrawn(manifest: Manifest) -> pa.Table:
    """Return the rows of the list of a dataset: that of its last generation with a list, which is a whole one.

    Raises:
        DataError: The list is missing, no longer what was written, or not a list of hashes.
    """
    lists = [file for file in manifest.files if file.path.rpartition("/")[2] == WITHDRAWN]
    if not lists:
        return SCHEMA.empty_table()
    try:
        table = read_list(manifest, lists[-1]).select(SCHEMA.names).cast(SCHEMA)
    except (pa.ArrowException, KeyError, ValueError, OSError):
        table = None
    if table is None or any(column.null_count for column in table.columns):
        where = f"{manifest.root.url}/{lists[-1].path}"
        msg = f"{where}: this is not a list of removed images that shardkit wrote; restore the dataset from a copy"
        raise DataError(msg)
    return table


def without(table: pa.Table, keys: Sequence[str], contents: Sequence[bytes | None]) -> pa.Table:
    """Return the rows of a list without those of examples that came in again.

    Args:
        table: The list.
        keys: Keys of the examples.
        contents: The sha256 of their raw files; None where it is not known.
    """
    kept = np.ones(len(table), np.bool_)
    for salt in pc.unique(table["salt"]).to_pylist():
        known = [content for content in contents if content is not None]
        again = withdrawn_table(salt, keys, [b""] * len(keys)), withdrawn_table(salt, [""] * len(known), known)
        for name, one in zip(("key_hash", "content_hash"), again, strict=True):
            is_there = pc.and_(pc.equal(table["salt"], salt), pc.is_in(table[name], one[name].combine_chunks()))
            kept &= ~is_there.to_numpy()
    return table.filter(pa.array(kept))


@dataclass(frozen=True, slots=True)
class WithdrawnExamples:
    """Recognises removed examples.

    Attributes:
        salts: The salts of the list, each with the hashes of keys and of contents that have it.
    """

    salts: tuple[tuple[bytes, frozenset[bytes], frozenset[bytes]], ...]

    @classmethod
    def of(cls, table: pa.Table) -> "WithdrawnExamples":
        """Return the examples of a list."""
        salts = np.array(table["salt"].to_pylist(), object)
        keys, contents = (np.array(table[name].to_pylist(), object) for name in ("key_hash", "content_hash"))
        return cls(
            tuple(
                (salt, frozenset(keys[salts == salt].tolist()), frozenset(contents[salts == salt].tolist()))
                for salt in sorted(set(salts.tolist()))
            )
        )

    def are_in(self, keys: Sequence[str | None], contents: Sequence[bytes | None]) -> npt.NDArray[np.bool_]:
        """Return bool[n], whether the key or the content of each example is in the list.

        Args:
            keys: Their keys; None where the key says nothing.
            contents: The sha256 of their raw files; None where it is not known.
        """
        found = np.zeros(len(keys), np.bool_)
        for salt, key_hashes, content_hashes in self.salts:
            found |= [key is not None and _key_hash(salt, key) in key_hashes for key in keys]
            found |= [
                content is not None and _keyed(salt, b"content", content) in content_hashes for content in contents
            ]
        return found


def _key_hash(salt: bytes, key: str) -> bytes:
    return _keyed(salt, b"key", key.encode("utf-8", "surrogateescape"))


def _keyed(salt: bytes, purpose: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(value, key=salt, digest_size=_HASH_BYTES, person=purpose).digest()
