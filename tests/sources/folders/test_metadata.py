import json
import pickle

import pyarrow as pa
import pytest

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.sources.columns import UNMEASURED
from shardkit.sources.opening import open_source
from shardkit.sources.recognising.folders.opening_metadata import has_metadata
from shardkit.storage import open_folder
from shardkit.testing import listed, opened, read_source, upload, write_tree

from ..table_reading import write_parquet


def tree(root, files):
    """Images by their sizes, tables by their contents."""
    return write_tree(
        root / "source", {path: b"x" * one if isinstance(one, int) else one for path, one in files.items()}
    )


def read(root, **options):
    return read_source(root, layout="metadata", **options)


A, B, C = ({"file_name": f"{name}.png", "label": label} for name, label in [("a", "x"), ("b", "y"), ("c", "x")])
CSV = "file_name,label\na.png,x\nb.png,y\n"

# name: files, and (key, split, label, bytes) or (key, split, reason, bytes)
TREES = {
    "CSV": ({"metadata.csv": CSV, "a.png": 1, "b.png": 2}, [("a.png", None, "x", 1), ("b.png", None, "y", 2)]),
    "JSON Lines": (
        {"metadata.jsonl": [A, B], "a.png": 1, "b.png": 2},
        [("a.png", None, "x", 1), ("b.png", None, "y", 2)],
    ),
    "in folders": (
        {"metadata.csv": "file_name,label\nin/a.png,x\nb.png,y\n", "in/a.png": 1, "b.png": 2},
        [("in/a.png", None, "x", 1), ("b.png", None, "y", 2)],
    ),
    "not there, and not named": (
        {"metadata.jsonl": [A, B], "b.png": 2, "c.png": 3, "in/d.png": 4},
        [
            ("a.png", None, "missing", UNMEASURED),
            ("b.png", None, "y", 2),
            ("c.png", None, "no_label", 3),
            ("in/d.png", None, "no_label", 4),
        ],
    ),
    "a folder of that name": (
        {"metadata.jsonl": [A, B], "a.png/c.png": 1, "b.png": 2},
        [("a.png", None, "missing", UNMEASURED), ("b.png", None, "y", 2), ("a.png/c.png", None, "no_label", 1)],
    ),
    "a rejected record names its image": (
        {"metadata.jsonl": [A, {"file_name": "b.png", "label": ""}], "a.png": 1, "b.png": 2},
        [("a.png", None, "x", 1), ("b.png", None, "no_label", 2)],
    ),
    "named twice": ({"metadata.jsonl": [A, A], "a.png": 1}, [("a.png", None, "x", 1)] * 2),
    "hidden, or without an image's ending, but named": (
        {"metadata.csv": "file_name,label\n.a.png,x\nb.dat,y\n", ".a.png": 1, "b.dat": 2, "c.dat": 3},
        [(".a.png", None, "x", 1), ("b.dat", None, "y", 2)],
    ),
    "a table in each split folder": (
        {"train/metadata.jsonl": [A, B], "train/a.png": 1, "train/b.png": 2, "Val/metadata.jsonl": [A], "Val/a.png": 3},
        [("Val/a.png", "validation", "x", 3), ("train/a.png", "train", "x", 1), ("train/b.png", "train", "y", 2)],
    ),
    "a split folder and another one without a table": (
        {"train/metadata.jsonl": [A], "train/a.png": 1, "test/a.png": 2, "docs/b.png": 3, "c.png": 4},
        [
            ("train/a.png", "train", "x", 1),
            ("c.png", None, "no_label", 4),
            ("docs/b.png", None, "no_label", 3),
            ("test/a.png", "test", "no_label", 2),
        ],
    ),
    "a table of split folders": (
        {
            "metadata.csv": "file_name,label\ntrain/a.png,x\ntest/a.png,y\nb.png,x\n",
            "train/a.png": 1,
            "test/a.png": 2,
            "b.png": 3,
        },
        [("train/a.png", "train", "x", 1), ("test/a.png", "test", "y", 2), ("b.png", None, "bad_split", 3)],
    ),
    "folders that are named like splits beside another one": (
        {"metadata.csv": "file_name,label\ntrain/a.png,x\nbus/a.png,y\n", "train/a.png": 1, "bus/a.png": 2},
        [("train/a.png", None, "x", 1), ("bus/a.png", None, "y", 2)],
    ),
    "a split column counts more than folders": (
        {"metadata.csv": "file_name,label,split\ntrain/a.png,x,test\n", "train/a.png": 1},
        [("train/a.png", "test", "x", 1)],
    ),
    "columns in another order": (
        {
            "train/metadata.csv": "file_name,label,age\na.png,x,1\n",
            "train/a.png": 1,
            "test/metadata.csv": "age,label,file_name\n2,y,a.png\n",
            "test/a.png": 2,
        },
        [("test/a.png", "test", "y", 2), ("train/a.png", "train", "x", 1)],
    ),
    "a table at the root and one below": (
        {"metadata.jsonl": [B], "b.png": 1, "train/metadata.jsonl": [A], "train/a.png": 2},
        [("b.png", None, "bad_split", 1), ("train/a.png", "train", "x", 2)],
    ),
    "one folder names what the other does not": (
        {"train/metadata.jsonl": [A], "train/a.png": 1, "test/metadata.jsonl": [A | {"age": 3}], "test/a.png": 2},
        [("test/a.png", "test", "x", 2), ("train/a.png", "train", "x", 1)],
    ),
    "paths that climb": (
        {"train/metadata.jsonl": [A, {"file_name": "../b.png", "label": "x"}], "train/a.png": 1, "b.png": 2},
        [
            ("train/a.png", "train", "x", 1),
            ("b.png", None, "bad_split", 2),
        ],
    ),
    "a converted dataset": (
        {"metadata.jsonl": [A], "a.png": 1, "old/manifest.json": "", "old/run-log.jsonl": "", "old/b.png": 2},
        [("a.png", None, "x", 1)],
    ),
    "file_name counts more than image": (
        {"metadata.csv": "image,file_name,label\nb.png,a.png,x\n", "a.png": 1},
        [("a.png", None, "x", 1)],
    ),
}


def summary(found, is_there):
    """Return key, split, and label or reason of each row; the check finds that a named file is missing."""
    return [
        (row["key"], row["split"], row["reason"] or ("missing" if not is_there(row["key"]) else row["label_name"]))
        for row in found.table.to_pylist()
    ]


def without_sizes(expected):
    return [row[:3] for row in expected]


@pytest.mark.parametrize(("files", "expected"), TREES.values(), ids=TREES.keys())
def test_images_and_records_are_brought_together(files, expected, tmp_path):
    root = tree(tmp_path, files)
    assert sorted(summary(read(root), lambda key: (root / key).is_file())) == sorted(without_sizes(expected))


def test_other_files_are_skipped_and_counted_but_not_the_metadata(tmp_path):
    files = {"train/metadata.csv": CSV, "train/a.png": 1, "train/b.png": 2, "train/x.csv": "", "y.txt": ""}
    assert read(tree(tmp_path, files)).skipped == {".csv": 1, ".txt": 1}


def test_the_output_inside_the_source_is_left_out(tmp_path):
    root = tree(tmp_path, {"metadata.jsonl": [A], "a.png": 1, "out/b.png": 1, "deep/out/c.png": 1})
    assert [row["key"] for row in read(root, output=root / "out").rows] == ["a.png", "deep/out/c.png"]
    assert [row["key"] for row in read(root, output=root / "deep/out").rows] == ["a.png", "out/b.png"]


def test_messages_name_the_table_and_the_line(tmp_path):
    found = read(tree(tmp_path, {"train/metadata.jsonl": [A, B], "train/b.png": 1, "train/c.png": 1, "d.png": 1}))
    assert [row["message"] for row in found.table.to_pylist()] == [
        None,
        None,
        "train/metadata.jsonl does not name it; add a record for it, or leave it out with ignore",
        "train/metadata.jsonl does not name it; add a record for it, or leave it out with ignore",
    ]


def test_parquet_metadata_have_their_classes(tmp_path):
    root = tree(tmp_path, {"train/a.png": 1, "test/a.png": 2})
    names = {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
    for split, label in [("train", 1), ("test", 0)]:
        table = pa.table({"file_name": ["a.png"], "label": [label]})
        table = table.replace_schema_metadata({b"huggingface": json.dumps(names).encode()})
        write_parquet(root / split, table, "metadata.parquet")
    source = opened(root)
    assert source.classes == ("cat", "dog")
    rows = [(row["key"], row["split"], row["label_name"]) for row in listed(source).table.to_pylist()]
    assert rows == [("test/a.png", "test", "cat"), ("train/a.png", "train", "dog")]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"metadata.csv": CSV, "metadata.jsonl": [A]}, "holds metadata.csv and metadata.jsonl; keep those of one kind"),
        ({"train/metadata.csv": CSV, "test/metadata.jsonl": [A]}, "holds test/metadata.jsonl and train/metadata.csv"),
        ({"train/metadata.csv": CSV, "test/metadata.csv": "file_name,class\na,x\n"}, "its columns are not those of"),
        ({"bus/metadata.csv": CSV, "car/a.txt": ""}, "there is no metadata.csv, metadata.jsonl or metadata.parquet"),
        ({"metadata.csv": "file_name,text\na.png,x\n"}, "'file_name', 'text' has a usual name for labels"),
        ({"metadata.csv": ""}, "the table is empty"),
    ],
)
def test_metadata_that_do_not_go_together_are_refused(files, message, tmp_path):
    with pytest.raises((CallError, DataError), match=message):
        opened(tree(tmp_path, files), layout="metadata")


def test_parquet_metadata_may_differ_in_the_order_of_columns(tmp_path):
    root = tree(tmp_path, {"train/a.png": 1, "test/a.png": 2})
    names = {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
    for split, order in [("train", ["file_name", "label", "age"]), ("test", ["age", "label", "file_name"])]:
        table = pa.table({"file_name": ["a.png"], "label": [1], "age": [7]}).select(order)
        table = table.replace_schema_metadata({b"huggingface": json.dumps(names).encode()})
        write_parquet(root / split, table, "metadata.parquet")
    rows = read(root).rows
    assert [(row["key"], row["label_name"], row["feature:age"]) for row in rows] == [
        ("test/a.png", "dog", 7),
        ("train/a.png", "dog", 7),
    ]


def test_columns_that_differ_in_type_are_refused(tmp_path):
    root = tree(tmp_path, {"train/a.png": 1, "test/a.png": 2})
    for split, label in [("train", 1), ("test", "x")]:
        write_parquet(root / split, {"file_name": ["a.png"], "label": [label]}, "metadata.parquet")
    with pytest.raises(DataError, match="of the same names and types"):
        opened(root)


def test_metadata_of_something_else_beside_class_folders_are_not_used(tmp_path):
    files = {"metadata.csv": "id,photographer\n1,Bob\n", "cat/a.png": 1, "dog/b.png": 1}
    root = tree(tmp_path, files)
    source = open_source(str(root))
    assert source.layout == "class folders"
    with pytest.raises(DataError, match="'photographer' has a usual name for image paths") as caught:
        opened(root, layout="metadata")
    assert "class-folders" not in str(caught.value)


def test_columns_of_all_tables_decide_the_type_that_a_column_is_carried_in(tmp_path):
    later = "file_name,label,age\n" + "a.png,x,1\n" * 1000 + "b.png,x,\n"
    files = {"test/metadata.csv": "age,file_name,label\n1,a.png,x\n", "train/metadata.csv": later}
    assert opened(tree(tmp_path, files)).schema.field("feature:age").type == pa.string()


def test_an_option_that_names_no_column_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="there is no column 'age'; there are 'file_name', 'label'"):
        opened(tree(tmp_path, {"metadata.csv": CSV}), label_columns=("age",))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.csv", True),
        ("metadata.parquet", True),
        ("Training/metadata.jsonl", True),
        ("cat/metadata.csv", False),
        ("train/deep/metadata.csv", False),
        ("Metadata.csv", False),
        ("metadata.csv/", False),
        (".train/metadata.csv", False),
    ],
)
def test_metadata_are_found_in_the_folder_and_its_split_folders(path, expected, tmp_path):
    assert has_metadata(open_folder(str(write_tree(tmp_path, {path: b""})))) == expected


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_batches_are_the_same_on_every_call_and_after_the_trip_to_a_worker(batch_rows, tmp_path):
    files = {"metadata.csv": CSV, "a.png": 1, "b.png": 1} | {f"{i}.png": 1 for i in range(5)}
    source = opened(tree(tmp_path, files))
    there = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own
    assert listed(source, batch_rows).table == listed(there, batch_rows).table == listed(source).table


def test_the_source_says_how_it_was_read(tmp_path):
    root = tree(tmp_path, {"train/metadata.jsonl": [A], "test/metadata.jsonl": [A | {"age": 3}]})
    source = opened(root)
    assert source.layout == "Hugging Face metadata"
    assert source.describe() == (
        f"{root}: read as Hugging Face metadata: the image from column 'file_name'; the class from column 'label'; "
        "stored as features 'age' (string); split from path:0"
    )


def test_an_object_store_is_read_the_same(s3_bucket):
    folder = upload(
        f"{s3_bucket}/source", {"train/metadata.csv": CSV.encode(), "train/a.png": b"1", "train/c.png": b"123"}
    )
    assert has_metadata(folder)
    assert summary(read(folder.url), lambda key: folder.stat(key) is not None) == [
        ("train/a.png", "train", "x"),
        ("train/b.png", "train", "missing"),
        ("train/c.png", "train", "no_label"),
    ]
