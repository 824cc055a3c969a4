import hashlib

import google_crc32c
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.conversion.inventory.checking import check_batch
from shardkit.conversion.inventory.columns import INVENTORY_SCHEMA
from shardkit.conversion.inventory.parts import count_rows, part_name, part_path, read_parts, write_rows
from shardkit.conversion.inventory.table import compact, fingerprint
from shardkit.sources import Listing, SourceOptions
from shardkit.sources.columns import MASK_SHA256, objects_field
from shardkit.sources.listing import ListingRow
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import inventory_table, picture, write_tree

FILES = {
    "cat/good.png": picture(1, width=5, height=7),
    "cat/grey.jpg": picture(2, width=9, height=4, kind="JPEG"),
    "cat/cut.png": picture(3)[:-20],
    "dog/empty.jpg": b"",
    "dog/text.jpg": b"no image",
    "dog/bitmap.bmp": picture(4, kind="BMP"),
    "dog/notes.txt": b"",
    "outside.png": picture(5),
}


@pytest.fixture
def source(tmp_path):
    return open_source(str(write_tree(tmp_path / "source", FILES)), SourceOptions(layout="class-folders"))


def batches(source, check, batch_rows=100):
    return [
        (listing, check_batch(source.folder, listing.table(), check))
        for part in source.parts()
        for listing in source.list_part(part, batch_rows)
    ]


def by_key(tables):
    return {row["key"]: row for table in tables for row in table.to_pylist()}


def test_decoding_looks_at_every_file(source):
    rows = by_key(table for _, table in batches(source, "decode"))
    assert {key: row["reason"] for key, row in rows.items()} == {
        "cat/good.png": None,
        "cat/grey.jpg": None,
        "cat/cut.png": "truncated",
        "dog/empty.jpg": "empty",
        "dog/text.jpg": "not_an_image",
        "dog/bitmap.bmp": None,
        "outside.png": "no_label",
    }
    good = rows["cat/good.png"]
    raw = FILES["cat/good.png"]
    assert (good["format"], good["width"], good["height"], good["orientation"], good["changes"]) == ("PNG", 5, 7, 1, "")
    assert good["source_bytes"] == len(raw)
    assert good["content_sha256"] == hashlib.sha256(raw).digest()
    assert good["content_crc32c"] == google_crc32c.value(raw)
    assert rows["dog/bitmap.bmp"]["changes"] == "format:bmp"
    for row in rows.values():
        assert (row["reason"] is None) == (row["message"] is None) == (row["content_sha256"] is not None)


def test_header_check_opens_no_file(source, monkeypatch):
    def opened(*_):
        raise AssertionError

    monkeypatch.setattr(type(source.folder), "read", opened)
    monkeypatch.setattr(type(source.folder), "open", opened)
    rows = by_key(table for _, table in batches(source, "header"))
    assert {key for key, row in rows.items() if row["reason"]} == {"outside.png"}
    assert {row["content_crc32c"] for row in rows.values()} == {None}


def test_a_file_that_cannot_be_read_is_rejected_not_raised(tmp_path):
    root = write_tree(tmp_path / "source", {"cat/gone.jpg": b"x", "cat/loop/": b""})
    (root / "cat/loop.jpg").symlink_to("loop.jpg")
    source = open_source(str(root), SourceOptions(layout="class-folders"))
    listing = next(source.list_part(source.parts()[0], 10))
    (root / "cat/gone.jpg").unlink()
    rows = by_key([check_batch(source.folder, listing.table(), "decode")])
    assert {key: row["reason"] for key, row in rows.items()} == {
        "cat/gone.jpg": "unreadable",
        "cat/loop.jpg": "unreadable",
    }
    assert rows["cat/gone.jpg"]["message"] == "The file cannot be read: No such file or directory."


@pytest.mark.parametrize("check", ["decode", "header"])
def test_every_batch_has_the_schema_and_keeps_its_rows_in_order(source, check):
    for listing, table in batches(source, check, batch_rows=2):
        assert table.schema.equals(INVENTORY_SCHEMA)
        assert table["key"].to_pylist() == listing.table()["key"].to_pylist()


def write_all(output, source, check, batch_rows):
    names = []
    for listing, table in batches(source, check, batch_rows):
        names.append(part_name(listing.table(), listing, check))
        write_rows(output, part_path(names[-1]), table, listing)
    return names


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_the_inventory_is_sorted_by_key_whatever_its_parts_and_their_order(batch_rows, source, tmp_path):
    output = open_folder(str(tmp_path))
    names = write_all(output, source, "decode", batch_rows)
    whole = compact(pa.concat_tables([table for _, table in batches(source, "decode")]).sort_by("key"))
    timeless = pa.schema([field for field in INVENTORY_SCHEMA if field.name != "mtime_ns"])
    whole = whole.drop_columns("mtime_ns")
    for order in (names, names[::-1], sorted(names)):
        table, totals = read_parts(output, order)
        assert compact(table.cast(timeless)).to_pydict() == whole.to_pydict()
        assert fingerprint(table) == fingerprint(whole)
        assert (totals.skipped, totals.classes) == ({".txt": 1}, {})
    assert count_rows(output) == len(whole) == 7


def test_no_parts_are_an_empty_inventory(tmp_path):
    table, totals = read_parts(open_folder(str(tmp_path)), [])
    assert {*table.schema.names, "mtime_ns"} == set(INVENTORY_SCHEMA.names)
    assert (len(table), totals) == (0, Listing())
    assert count_rows(open_folder(str(tmp_path))) == 0


def test_a_part_is_found_again_while_its_files_are_the_same_and_not_when_one_changed(source):
    def names(check="decode"):
        return [part_name(listing.table(), listing, check) for listing, _ in batches(source, check)]

    before = names()
    assert names() == before
    assert not set(names("header")) & set(before)
    path = source.folder.path + "/cat/good.png"
    with open(path, "ab") as file:
        file.write(b"x")
    assert len(set(names()) & set(before)) == len(before) - 1


def listing_of(keys, **columns):
    nothing, ones = [None] * len(keys), [1] * len(keys)
    given = [columns.get(name, nothing) for name in ("splits", "label_names")]
    given += [columns.get(name, ones) for name in ("source_bytes", "mtimes_ns")]
    rows = [ListingRow(*row) for row in zip(keys, *given, strict=True)]
    return Listing(rows=rows, skipped=columns.get("skipped", {}), classes=columns.get("classes", {}))


def name_of(listing, check="decode"):
    return part_name(listing.table(), listing, check)


@pytest.mark.parametrize(
    "other",
    [
        listing_of(["ab", "c"], source_bytes=[2, 1]),
        listing_of(["ab", "c"], mtimes_ns=[2, 1]),
        listing_of(["a", "bc"]),  # the same letters
        listing_of(["c", "ab"]),
        listing_of(["ab"]),
        listing_of(["ab", "c"], label_names=["", None]),  # empty is not absent
        listing_of(["ab", "c"], splits=["ab", None]),
        listing_of(["ab", "c"], skipped={".txt": 1}),
        listing_of(["ab", "c"], classes={1: "ab"}),
    ],
)
def test_part_names_differ_where_listings_do(other):
    assert name_of(other) != name_of(listing_of(["ab", "c"]))


def test_a_parts_name_tells_its_number_of_rows():
    assert name_of(listing_of(["a", "b", "c"])).endswith("-3.arrow")


columns = st.lists(st.tuples(st.text("ab\u00fc", max_size=3), st.sampled_from(["", "a", None])), max_size=4)


@given(columns, columns)
def test_fingerprints_are_equal_only_for_equal_inventories(one, other):
    def made(rows):
        keys, splits = [key for key, _ in rows], [split for _, split in rows]
        return inventory_table(["cat"] * len(rows), keys=keys, splits=splits, contents=[b"x"] * len(rows))

    tables = made(one), made(other)
    prints = [fingerprint(table) for table in tables]
    assert (prints[0] == prints[1]) == tables[0].equals(tables[1])


def test_the_fingerprint_does_not_depend_on_chunks_slices_or_times():
    table = inventory_table(["cat"] * 6, keys=list("abcdef"), splits=["x", None, "yy", None, "", "z"])
    later = inventory_table(
        ["cat"] * 6, keys=list("abcdef"), splits=["x", None, "yy", None, "", "z"], mtimes_ns=range(6)
    )
    chunked = pa.concat_tables([table.slice(0, 2), table.slice(2, 3), table.slice(5)])
    assert fingerprint(chunked) == fingerprint(later) == fingerprint(table)
    assert fingerprint(table.slice(1, 3)) == fingerprint(table.take([1, 2, 3]))


def test_the_fingerprint_depends_on_masks_not_on_their_files_unless_their_contents_are_unknown():
    def masked(paths, contents):
        table = inventory_table(["cat"] * 2).append_column("mask_path", pa.array(paths))
        return table.append_column(MASK_SHA256, pa.array(contents, MASK_SHA256.type))

    one, other = [b"a" * 32, b"b" * 32], [b"a" * 32, b"c" * 32]
    assert fingerprint(masked(["1", "2"], one)) == fingerprint(masked(["3", "4"], one))
    assert fingerprint(masked(["1", "2"], one)) != fingerprint(masked(["1", "2"], other))
    nothing = [None, None]
    assert fingerprint(masked(["1", "2"], nothing)) != fingerprint(masked(["3", "4"], nothing))


def test_the_fingerprint_depends_on_boxes_not_on_what_messages_call_them():
    def boxed(side, name):
        boxes = [[{"bbox": [0, 0, 0.5, side], "label_name": "cat", "name": name}], []]
        field = objects_field()
        return inventory_table([None, None], keys=["a", "b"]).append_column(field, pa.array(boxes, field.type))

    assert fingerprint(boxed(0.5, "line 2")) == fingerprint(boxed(0.5, "object 0"))
    assert fingerprint(boxed(0.5, "line 2")) != fingerprint(boxed(0.25, "line 2"))


def test_skipped_files_are_kept_with_their_part(tmp_path):
    output = open_folder(str(tmp_path))
    table = INVENTORY_SCHEMA.empty_table()
    for name, skipped in (("a-0.arrow", {".txt": 1, ".csv": 2}), ("b-0.arrow", {".txt": 3})):
        write_rows(output, part_path(name), table, Listing(skipped=skipped))
    assert read_parts(output, ["b-0.arrow", "a-0.arrow"])[1].skipped == {".csv": 2, ".txt": 4}
