import gzip
import io
import zlib

import pytest

from shardkit.dataset.foreign.compression import compression_of, inflating
from shardkit.dataset.foreign.file_names import is_tfrecord_name, missing_shards, split_of_file, stems
from shardkit.dataset.foreign.frames import frames
from shardkit.dataset.foreign.label_names import LabelNames, lines_as_names
from shardkit.dataset.foreign.values import locate_bytes, read_features
from shardkit.errors import CallError, DataError, RecordError

from .records import coco, example, framed, imagenet, jpeg, melanoma

_RECORDS = [b"first", b"second record", b""]
_FILE = framed(_RECORDS)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (_FILE, ""),
        (gzip.compress(_FILE, mtime=0), "GZIP"),
        (zlib.compress(_FILE), "ZLIB"),
        (gzip.compress(b"some text, not records", mtime=0), None),
        (b"\x1f\x8b" + _FILE, None),
        (jpeg(), None),
        (b"", None),
    ],
    ids=["plain", "gzip", "zlib", "text in gzip", "begins like gzip", "jpeg", "empty"],
)
def test_the_first_bytes_say_how_a_file_is_compressed(content: bytes, expected: str | None) -> None:
    assert compression_of(content) == expected
    if expected is not None:
        found = list(frames(inflating(io.BytesIO(content), compression_of(content) or "")))
        assert [one.data for one in found] == _RECORDS


def test_a_plain_record_as_long_as_the_magic_of_gzip_says_is_plain() -> None:
    assert compression_of(framed([b"x" * 0x8B1F])) == ""


def test_a_damaged_record_is_reported_and_the_next_one_is_read() -> None:
    damaged = bytearray(_FILE)
    damaged[12] ^= 1
    first, *others = frames(io.BytesIO(bytes(damaged)))
    assert first.number == 0
    assert first.problem is not None
    assert not first.is_end
    assert [(one.number, one.data) for one in others] == [(1, _RECORDS[1]), (2, b"")]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zlib.compress])
@pytest.mark.parametrize("missing", [1, 5, 14])
def test_a_file_that_ends_early_says_so(compress: type[bytes], missing: int) -> None:
    content = compress(framed([b"a" * 999, b"b" * 999]))[:-missing]
    *_, last = frames(inflating(io.BytesIO(content), compression_of(content) or ""))
    assert last.is_end
    assert "nothing after it can be read" in str(last.problem)


def test_a_damaged_length_ends_the_file() -> None:
    damaged = bytearray(_FILE)
    damaged[16 + 5] ^= 1
    *_, last = frames(io.BytesIO(bytes(damaged)))
    assert (last.number, last.is_end, last.problem) == (
        1,
        True,
        "the record's length at byte 21 is damaged; nothing after it can be read",
    )


@pytest.mark.parametrize("record", [coco(1), imagenet(1), melanoma(3)])
def test_the_image_is_found_in_its_record(record: dict[str, object]) -> None:
    name = "image" if "image" in record else "image/encoded"
    data = example(record)
    start, length = locate_bytes(data, name)
    assert data[start : start + length] == record[name]


def test_sequence_examples_and_other_bytes_are_refused() -> None:
    with pytest.raises(RecordError, match="SequenceExample"):
        read_features(example({"a": 1}) + b"\x12\x00")
    with pytest.raises(RecordError, match=r"not a tf\.train\.Example"):
        read_features(b"\xff\xff\xff")
    with pytest.raises(RecordError, match="no features"):
        read_features(b"")


@pytest.mark.parametrize(
    ("path", "split", "stem"),
    [
        ("train-00000-of-01024", "train", "train-00000-of-01024"),
        ("validation-00000-of-00128", "validation", "validation-00000-of-00128"),
        ("coco_val.record-00000-of-00100", "validation", "coco_val.record-00000-of-00100"),
        ("mnist-test.tfrecord-00000-of-00001", "test", "mnist-test.tfrecord-00000-of-00001"),
        # The dataset's name has a split's name in it.
        ("test_cats-train.tfrecord-00000-of-00001", "train", "test_cats-train.tfrecord-00000-of-00001"),
        ("stl10-unlabelled.tfrecord-00000-of-00001", "unlabelled", "stl10-unlabelled.tfrecord-00000-of-00001"),
        ("train-00000-of-00001.tfrecord.gz", "train", "train-00000-of-00001"),
        ("train00-2071.tfrec", None, "train00-2071"),
        ("val/a.tfrecords", "validation", "val/a"),
        ("train_test.record", None, "train_test"),
    ],
)
def test_names_of_files(path: str, split: str | None, stem: str) -> None:
    assert is_tfrecord_name(path.rpartition("/")[2])
    assert stems([path]) == {path: stem}
    if path != "train00-2071.tfrec":
        assert split_of_file(path) == split


def test_kaggle_numbers_behind_a_split_do_not_hide_it() -> None:
    assert split_of_file("train00-2071.tfrec") == "train"


def test_equal_stems_keep_their_endings() -> None:
    assert stems(["a.tfrecord", "a.tfrec"]) == {"a.tfrecord": "a.tfrecord", "a.tfrec": "a.tfrec"}


def test_missing_shards_are_counted() -> None:
    assert missing_shards(["train-00000-of-00003", "train-00002-of-00003", "x.tfrecord"]) == [
        "1 of 3 shards of train-*-of-00003"
    ]
    assert missing_shards(["train-00000-of-00001"]) == []


def test_a_number_without_name_fails_with_the_remedy() -> None:
    names = LabelNames(("a", "b"), 0, "label.labels.txt")
    assert names.name_of(1, "x") == "b"
    with pytest.raises(DataError, match=r"a\.tfrecord, record 3 has the label 2.*if the labels count from 1"):
        names.name_of(2, "a.tfrecord, record 3")
    with pytest.raises(DataError, match="has the label -3"):
        names.name_of(-3, "x")


def test_lines_of_classes_count_from_one_for_imagenet_without_background() -> None:
    assert lines_as_names([str(i) for i in range(1000)], 1).name_of(1000, "x") == "999"
    assert lines_as_names([str(i) for i in range(1001)], 1).name_of(1000, "x") == "1000"
    assert lines_as_names(["a", "b"], 0).name_of(0, "x") == "a"
    with pytest.raises(CallError, match="lines 1 and 2 are both 'crane'"):
        lines_as_names(["crane", "crane"], 0)
