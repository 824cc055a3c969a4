"""The tables in ``sample_data`` are what the script makes, and are read as it says."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from shardkit.sources.options import Opening
from shardkit.sources.recognising.folders.opening_metadata import open_metadata
from shardkit.storage import open_folder
from shardkit.testing import listed, opened, read_source

SAMPLES = Path(__file__).parents[3] / "sample_data"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_tables", SAMPLES / "make_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_makes_what_is_there(script, tmp_path):
    script.make(tmp_path)
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert sum((SAMPLES / path).stat().st_size for path in made) <= 200 << 10  # 200 KiB
    for path in made:
        if path.suffix == ".png":
            with Image.open(tmp_path / path) as new, Image.open(SAMPLES / path) as old:
                assert new.tobytes() == old.tobytes()
        elif path.suffix == ".parquet":
            assert read_source(tmp_path / path).table == read_source(SAMPLES / path).table
        else:
            assert (tmp_path / path).read_bytes() == (SAMPLES / path).read_bytes()


@pytest.mark.parametrize(
    ("name", "columns", "first"),
    [
        ("labels.csv", {"key": 240, "label_name": 4}, ("circle/circle_000.jpg", "circle")),
        ("automl.csv", {"key": 240, "split": 3, "label_name": 4}, ("circle/circle_000.jpg", "train", "circle")),
        (
            "attributes.tsv",
            {"key": 240, "split": 3, "group": 60, "feature:iso": 4},
            ("circle/circle_000.jpg", "test", "circle-00", 100),
        ),
        ("multilabel.jsonl", {"key": 240, "label_names": 5}, ("circle/circle_000.jpg", [])),
        ("regression.parquet", {"key": 80}, ("circle/circle_000.jpg",)),
    ],
)
def test_each_is_read_as_meant(name, columns, first, tmp_path):
    source = opened(SAMPLES / name, group_by="scene")
    rows = listed(source).table.to_pylist()
    assert all((SAMPLES / row["key"]).is_file() for row in rows)
    assert tuple(rows[0][column] for column in columns) == (f"shapes/{first[0]}", *first[1:])
    for column, count in columns.items():
        values = [row[column] for row in rows if row["reason"] is None]
        flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
        assert len(set(flat)) == count - (4 if name == "automl.csv" and column == "key" else 0)
    # Those whose split AutoML has not assigned.
    assert Counter(row["reason"] for row in rows)["bad_split"] == 4 * (name == "automl.csv")


def test_every_line_of_the_broken_one_gives_its_reason(script):
    rows = read_source(SAMPLES / "broken.csv").table.to_pylist()
    # Whether an image is there is looked up later.
    expected = [None if reason == "missing" else reason for _, reason in script.BROKEN]
    assert [row["reason"] for row in rows] == expected
    assert [row["line"] for row in rows] == list(range(2, len(expected) + 2))
    missing = [row["key"] for row in rows if row["reason"] is None and not (SAMPLES / row["key"]).exists()]
    assert missing == ["shapes/circle/circle_404.jpg"]


def test_the_metadata_folder_is_read_whole():
    source = open_metadata(Opening(open_folder(str(SAMPLES / "metadata"))))
    rows = listed(source).table.to_pylist()
    assert Counter((row["split"], row["reason"]) for row in rows) == {
        ("train", None): 9,
        ("test", None): 3,
    }
    assert {row["label_name"] for row in rows if row["reason"] is None} == {"box", "disc"}
    assert all((SAMPLES / "metadata" / row["key"]).is_file() for row in rows)
