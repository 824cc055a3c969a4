"""The list of removed examples: who is recognised, and what a damaged list says."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardkit.dataset import withdrawn
from shardkit.dataset.manifest import File
from shardkit.errors import DataError
from shardkit.hashing import sha256_hex
from shardkit.storage import open_folder

SALTS = [withdrawn.salt_of([digest]) for digest in ("a", "b")]
TABLE = withdrawn.joined(
    [
        withdrawn.withdrawn_table(SALTS[0], ["x.png", "ä"], [b"1" * 32, b"2" * 32]),
        withdrawn.withdrawn_table(SALTS[1], ["z"], [b"3" * 32]),
    ]
)


def test_a_key_or_a_content_is_recognised_by_every_salt():
    examples = withdrawn.WithdrawnExamples.of(TABLE)
    keys = ["x.png", "new", "z", "new", None, "X.png"]
    contents = [None, b"2" * 32, b"9" * 32, b"9" * 32, b"3" * 32, None]
    assert examples.are_in(keys, contents).tolist() == [True, True, True, False, True, False]


def test_what_came_in_again_is_taken_from_the_list():
    left = withdrawn.without(TABLE, ["ä"], [b"3" * 32])
    examples = withdrawn.WithdrawnExamples.of(left)
    assert examples.are_in(["x.png", "ä", "z"], [None] * 3).tolist() == [True, False, False]
    assert withdrawn.without(TABLE, ["new"], [None]).equals(TABLE)


def test_the_list_does_not_depend_on_the_order_and_has_each_row_once():
    again = withdrawn.joined([TABLE.take(pa.array([2, 0, 1])), TABLE])
    assert again.equals(TABLE)
    assert withdrawn.withdrawn_parquet(again) == withdrawn.withdrawn_parquet(TABLE)


class Manifest:
    """As much of a manifest as reading a list needs."""

    is_adopted = False

    def __init__(self, folder, raw):
        (folder / "withdrawn.parquet").write_bytes(raw)
        self.root = open_folder(str(folder))
        self.files = [File(path="withdrawn.parquet", num_bytes=len(raw), sha256=sha256_hex(raw))]


@pytest.mark.parametrize("kind", ["no table", "other columns", "other types", "nulls"])
def test_a_list_that_shardkit_did_not_write_is_an_error_with_its_name(kind, tmp_path):
    tables = {
        "other columns": pa.table({"salt": [b"a" * 16]}),
        "other types": pa.table({name: ["a"] for name in withdrawn.SCHEMA.names}),
        "nulls": pa.table({name: pa.nulls(1, pa.binary(16)) for name in withdrawn.SCHEMA.names}),
    }
    out = io.BytesIO()
    if kind in tables:
        pq.write_table(tables[kind], out)
    with pytest.raises(DataError, match=r"withdrawn.parquet: this is not a list of removed images"):
        withdrawn.read_withdrawn(Manifest(tmp_path, out.getvalue()))
    assert withdrawn.read_withdrawn(Manifest(tmp_path, withdrawn.withdrawn_parquet(TABLE))).equals(TABLE)
