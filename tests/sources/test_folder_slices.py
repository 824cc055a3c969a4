"""Very large folders are listed by several workers: every file once, whatever is in the folder by then."""

import os
import pickle

import pytest

from shardkit.sources import SourceOptions, hosts
from shardkit.sources.hosts import FolderSlice, slice_source, slices_of
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import write_tree


@pytest.fixture(autouse=True)
def few_is_many(monkeypatch):
    monkeypatch.setattr(hosts, "MIN_SLICED", 8)
    monkeypatch.setattr(hosts, "IMAGES_PER_SLICE", 3)


def rows_and_skipped(source, parts):
    rows, skipped = [], {}
    for one in parts:
        shown, part = (slice_source(source, one), one.part) if isinstance(one, FolderSlice) else (source, one)
        for listing in shown.list_part(part, 1000):
            rows += listing.table().to_pylist()
            for kind, count in listing.skipped.items():
                skipped[kind] = skipped.get(kind, 0) + count
    return sorted(rows, key=lambda row: row["key"]), skipped


NAMES = [
    *(f"{i:02d}.png" for i in range(10)),
    *"aZ~ä",
    "a b.jpg",
    "a.txt",
    ".hidden.jpg",
    "ä.png",
    "deep/1.png",
    "z/y/2.png",
]
SOURCES = {
    "class folder": ("cat", SourceOptions(layout="class-folders")),
    "unlabelled": ("photos", SourceOptions(layout="unlabelled")),
    "unlabelled, in the source itself": ("", SourceOptions(layout="unlabelled")),
    "file names": ("photos", SourceOptions(label_pattern="^(.)")),
    "ignoring": ("cat", SourceOptions(layout="class-folders", ignore=("0[0-3].png",))),
}


@pytest.mark.parametrize(("folder", "options"), SOURCES.values(), ids=SOURCES)
def test_the_slices_of_a_folder_list_what_the_whole_folder_lists(folder, options, tmp_path):
    write_tree(tmp_path, {os.path.join(folder, name): b"x" * i for i, name in enumerate(NAMES)} | {"other/1.png": b""})
    if folder:
        (tmp_path / folder / os.fsdecode(b"0\xff.png")).touch()  # no UTF-8
    source = open_source(str(tmp_path), options)
    parts = [one for part in source.parts() for one in slices_of(source, part)]
    slices = pickle.loads(pickle.dumps([one for one in parts if isinstance(one, FolderSlice)]))  # noqa: S301 - ours
    assert len(slices) >= 2
    assert all(rows_and_skipped(source, [one])[0] for one in slices)
    assert rows_and_skipped(source, parts) == rows_and_skipped(source, source.parts())
    # Files that came later belong to one range each.
    for name in ("!.png", "05b.png", "\U0001f600.png"):
        (tmp_path / folder / name).touch()
    assert rows_and_skipped(source, parts) == rows_and_skipped(source, source.parts())


@pytest.mark.parametrize("names", [[f"{i}.png" for i in range(7)], [f"{i}.txt" for i in range(20)]])
def test_a_folder_with_few_images_is_one_part(names, tmp_path):
    write_tree(tmp_path, {f"{label}/{name}": b"" for label in ("cat", "dog") for name in names})
    source = open_source(str(tmp_path))
    assert [slices_of(source, part) for part in source.parts()] == [[part] for part in source.parts()]


def test_a_dataset_inside_of_the_source_is_not_divided(tmp_path):
    inside = ["manifest.json", "run-log.jsonl", *(f"{i:02d}.png" for i in range(20))]
    write_tree(tmp_path, {f"cat/{name}": b"" for name in inside} | {"dog/1.png": b""})
    source = open_source(str(tmp_path), SourceOptions(layout="class-folders"))
    assert all(slices_of(source, part) == [part] for part in source.parts())


def test_folders_of_object_stores_are_not_divided(tmp_path):
    source = open_source(str(write_tree(tmp_path, {f"cat/{i}.png": b"" for i in range(9)} | {"dog/1.png": b""})))
    remote = source.in_folder(open_folder("s3://bucket/photos?region=eu-west-1"))
    assert all(slices_of(remote, part) == [part] for part in source.parts())
