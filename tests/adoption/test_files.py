"""Which files are adopted, where their dataset is, and which splits they are."""

import gzip
import os
import zlib

import pytest

from shardkit.adoption.files import assign_splits, conversion_of, dataset_place, find_files, refuse_compressed
from shardkit.dataset.foreign.files import ForeignFiles
from shardkit.errors import CallError, DataError
from shardkit.storage import open_folder

from ..dataset.foreign.records import framed

RECORD = framed([b"x"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for path in ("old/train/a.tfrecord", "old/train/b.tfrecord", "old/val/a.tfrecord", "old/notes.txt"):
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(RECORD)
    (tmp_path / "old" / ".cache").mkdir()
    (tmp_path / "old" / ".cache" / "c.tfrecord").write_bytes(RECORD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "below", "paths"),
    [
        (["old"], "old", ["train/a.tfrecord", "train/b.tfrecord", "val/a.tfrecord"]),
        (["old/train"], "old/train", ["a.tfrecord", "b.tfrecord"]),
        (["old/train/a.tfrecord"], "old/train", ["a.tfrecord"]),
        (["old/train/a.tfrecord", "old/train/a.tfrecord"], "old/train", ["a.tfrecord"]),
        (["old/train/a.tfrecord", "old/val/a.tfrecord"], "old", ["train/a.tfrecord", "val/a.tfrecord"]),
        (["old/*/a.*"], "old", ["train/a.tfrecord", "val/a.tfrecord"]),  # quoted: no shell has expanded it
        (["old/notes.txt"], "old", ["notes.txt"]),  # its first bytes decide
    ],
)
def test_files_folders_and_patterns_are_found(given, below, paths, folder):
    found = find_files(given)
    records, entries = found
    assert (records.url, [*entries]) == (f"{folder}/{below}", paths)
    assert {entry.num_bytes for entry in entries.values()} == {len(RECORD)}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "give the TFRecord files"),
        (["old/none"], "no such file"),
        (["old/*.csv"], "no file has a name like this"),
        ([os.fspath("empty")], "no TFRecord file below"),
        (["old/new\nline.tfrecord"], "control character"),
    ],
)
def test_what_is_not_found_is_refused(given, sentence, folder):
    (folder / "empty").mkdir()
    (folder / "old" / "new\nline.tfrecord").write_bytes(RECORD)
    with pytest.raises(CallError, match=sentence):
        find_files(given)


@pytest.mark.parametrize(
    ("into", "root", "climb"),
    [
        (None, "old", None),
        ("old", "old", None),
        ("new", "new", "../old"),
        ("deep/er/new", "deep/er/new", "../../../old"),
        ("old/index", "old/index", ".."),
        (".", ".", "old"),  # paths stay inside
        ("link/new", "link/new", "../../old"),  # the system resolves .. after the link
    ],
)
def test_a_dataset_points_to_its_records_by_a_relative_path(into, root, climb, folder):
    (folder / "deep").mkdir()
    (folder / "link").symlink_to(folder / "deep")
    place = dataset_place(open_folder(f"{folder}/old"), into)
    assert (place[0].url, place[1]) == (os.path.normpath(f"{folder}/{root}"), climb)
    if climb is not None:
        place[0].create()
        assert os.path.samefile(f"{place[0].url}/{climb}", folder / "old")


@pytest.mark.parametrize(
    ("paths", "given", "splits"),
    [
        (["a", "b"], {}, ["train", "train"]),  # no name tells one
        (["train-0-of-2", "validation-0-of-2"], {}, ["train", "validation"]),
        (["training/a", "dev/a"], {}, ["train", "validation"]),
        (["f0", "f1", "f2"], {"f[01]": "train", "*": "test"}, ["train", "train", "test"]),  # the first one counts
        (["x/f0", "x/f1"], {"f0": "val", "x/f1": "extra"}, ["validation", "extra"]),
    ],
)
def test_splits_come_from_names_or_patterns(paths, given, splits):
    assert [*assign_splits(paths, given)[0].values()] == splits


@pytest.mark.parametrize(
    ("paths", "given", "sentence"),
    [
        (["train-0", "x"], {}, "1 of 2 files do not tell their split"),
        (["a"], {"b*": "train"}, "no file has a path like this"),
        (["a"], {"*": "tr-ain"}, "a split's name"),
    ],
)
def test_unclear_splits_are_refused(paths, given, sentence):
    with pytest.raises(CallError, match=sentence):
        assign_splits(paths, given)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (gzip.compress(RECORD, mtime=0), r"compressed with GZIP(.|\n)*layout='tfrecord'"),
        (zlib.compress(RECORD), "compressed with ZLIB"),
        (b"\x89PNG" * 9, "this is no TFRecord file"),
        (RECORD[:5], "this is no TFRecord file"),
        (b"\x00" * 64, "this is no TFRecord file"),  # as a crash leaves it on some file systems
    ],
)
def test_other_files_are_refused_by_their_first_bytes(content, sentence, tmp_path):
    (tmp_path / "train.tfrecord").write_bytes(content)
    records, entries = find_files([str(tmp_path)])
    with pytest.raises(DataError, match=sentence):
        refuse_compressed(ForeignFiles.of(records, entries.items(), "leave it out"))


@pytest.mark.parametrize(
    ("adopted", "sources"),
    [
        (["old/a.tfrecord"], ["old/a.tfrecord"]),  # another file is next to it
        (["old/a.tfrecord", "old/b b.tfrecord"], ["old"]),
        (["val/a.tfrecord", "train/a.tfrecord"], ["."]),  # a source is read with its split folders
        (["old/a.tfrecord", "old/b b.tfrecord", "deep/er/a.tfrecord"], ["deep/er", "old"]),
        (["deep/er/a.tfrecord", "old/b b.tfrecord"], ["deep/er/a.tfrecord", "old/b b.tfrecord"]),
    ],
)
def test_the_command_that_converts_names_the_files_or_their_whole_folders(adopted, sources, tmp_path):
    for path in ("old/a.tfrecord", "old/b b.tfrecord", "old/notes.txt", "train/a.tfrecord", "val/a.tfrecord"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(RECORD)
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/a.tfrecord").write_bytes(RECORD)
    change = conversion_of(open_folder(str(tmp_path)), adopted)
    wanted = [os.path.normpath(tmp_path / source) for source in sources]
    assert [os.path.normpath(one) for one in change.sources] == wanted
    assert (change.command, change.options) == ("convert", {"layout": "tfrecord"})
