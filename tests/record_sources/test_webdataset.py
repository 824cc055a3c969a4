import io
import json
import re
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit import testing
from shardkit.errors import CallError, DataError
from shardkit.naming import split_of_path
from shardkit.record_sources.webdataset import holds_samples, is_webdataset, open_webdataset
from shardkit.sources.opening import open_source
from shardkit.sources.options import Opening, SourceOptions
from shardkit.storage import open_folder
from shardkit.testing import listed, write_tree


def tarred(members, **options):
    """A .tar of (name, content) pairs; a content may be a TarInfo's changes instead."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.mtime = 1_700_000_000
            if isinstance(content, dict):
                for key, value in content.items():
                    setattr(info, key, value)
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def source_of(tmp_path, **tars):
    return write_tree(tmp_path / "source", {f"{name}.tar": data for name, data in tars.items()})


def opened(path, **options):
    return testing.opened(path, layout="webdataset", **options)


def rows(source, batch_rows=1000):
    """(key, label or reason) in the order listed; where the image lies is checked by reading it."""
    found = listed(source, batch_rows)
    assert all(content.startswith(b"image") for content in found.images().values())
    columns = ("label_name", "path", "offset", "label_names")
    assert all(row.get(name) is None for row in found.rows if row["reason"] for name in columns)
    labels = {key: label for key, _, label in found.labels}
    return [(key, labels[key]) for key in found.table["key"].to_pylist()]


IMAGE = b"image 1"

# name: the members of a.tar, and (key, label or reason) of what is listed
TARS = {
    "a class file": ([("1.jpg", IMAGE), ("1.cls", b"7")], [("a/1.jpg", "7")]),
    "a class file before the image": ([("1.cls", b" cat\n"), ("1.png", IMAGE)], [("a/1.png", "cat")]),
    "a class file of another ending": ([("1.cls.txt", b"cat"), ("1.jpg", IMAGE)], [("a/1.jpg", "cat")]),
    "a file of the label": ([("1.jpg", IMAGE), ("1.label", b"cat")], [("a/1.jpg", "cat")]),
    "a text of the label": ([("1.jpg", IMAGE), ("1.label.txt", b"cat\r\n")], [("a/1.jpg", "cat")]),
    "a caption is no label": ([("cat/1.jpg", IMAGE), ("cat/1.txt", b"a dog")], [("a/cat/1.jpg", "cat")]),
    "endings in upper case": ([("1.CLS", b"cat"), ("1.JPG", IMAGE)], [("a/1.JPG", "cat")]),
    "a number in JSON": ([("1.jpg", IMAGE), ("1.json", b'{"label": 7}')], [("a/1.jpg", "7")]),
    "a name in JSON": ([("1.jpg", IMAGE), ("1.json", b'{"label_name": " cat ", "x": [1]}')], [("a/1.jpg", "cat")]),
    "class before label_name": (
        [("1.jpg", IMAGE), ("1.json", b'{"label_name": "b", "class": "a"}')],
        [("a/1.jpg", "a")],
    ),
    "the class file before JSON": (
        [("1.cls", b"cat"), ("1.jpg", IMAGE), ("1.json", b'{"label": "dog"}')],
        [("a/1.jpg", "cat")],
    ),
    "JSON without a label": ([("dog/1.jpg", IMAGE), ("dog/1.json", b'{"width": 7}')], [("a/dog/1.jpg", "dog")]),
    "a folder": ([("cat/x/1.jpg", IMAGE), ("dog/2.jpg", IMAGE)], [("a/cat/x/1.jpg", "cat"), ("a/dog/2.jpg", "dog")]),
    "a leading dot": (
        [("./cat/1.jpg", IMAGE), ("././dog/1.jpg", IMAGE)],
        [("a/cat/1.jpg", "cat"), ("a/dog/1.jpg", "dog")],
    ),
    "dots in a folder's name part no sample": (
        [("v1.0/1.jpg", IMAGE), ("v1.0/1.cls", b"a"), ("v1.0/2.jpg", IMAGE), ("v1.0/2.cls", b"b")],
        [("a/v1.0/1.jpg", "a"), ("a/v1.0/2.jpg", "b")],
    ),
    "a second picture of the sample": (
        [("1.cls", b"a"), ("1.jpg", IMAGE), ("1.seg.png", b"mask")],
        [("a/1.jpg", "a")],
    ),
    "a picture with a longer ending alone": ([("1.cls", b"a"), ("1.input.jpg", IMAGE)], [("a/1.input.jpg", "a")]),
    "two images of one sample": (
        [("1.cls", b"a"), ("1.jpg", IMAGE), ("1.png", IMAGE)],
        [("a/1.jpg", "bad_annotation")],
    ),
    "no label": ([("1.jpg", IMAGE), ("1.txt", b"a cat")], [("a/1.jpg", "no_label")]),
    "an empty label": ([("1.jpg", IMAGE), ("1.cls", b"\n")], [("a/1.jpg", "no_label")]),
    "no image": ([("1.cls", b"a"), ("2.cls", b"a"), ("2.jpg", IMAGE)], [("a/1.cls", "missing"), ("a/2.jpg", "a")]),
    "a label that is not UTF-8": ([("1.jpg", IMAGE), ("1.cls", b"\xff")], [("a/1.jpg", "bad_label")]),
    "a label that is a file": ([("1.jpg", IMAGE), ("1.cls", b"x" * 5000)], [("a/1.jpg", "bad_label")]),
    "a number that is no text": ([("1.jpg", IMAGE), ("1.cls", b"\5\0\0\0")], [("a/1.jpg", "bad_label")]),
    "several lines": ([("1.jpg", IMAGE), ("1.cls", b"cat\ndog")], [("a/1.jpg", "bad_label")]),
    "a list of labels": (
        [("1.jpg", IMAGE), ("1.json", b'{"label": [" a ", 7]}'), ("2.jpg", IMAGE), ("2.json", b'{"label": "b"}')],
        [("a/1.jpg", ["a", "7"]), ("a/2.jpg", ["b"])],
    ),
    "a list after one label": (
        [("1.jpg", IMAGE), ("1.json", b'{"label": 7}'), ("2.jpg", IMAGE), ("2.json", b'{"label": []}')],
        [("a/1.jpg", ["7"]), ("a/2.jpg", [])],
    ),
    "lists and other labels": (
        [
            *[("1.json", b'{"label": [1]}'), ("1.jpg", IMAGE), ("2.jpg", IMAGE), ("2.cls", b"b")],
            *[("cat/3.jpg", IMAGE), ("4.jpg", IMAGE), ("../5.jpg", IMAGE)],
        ],
        [
            *[("a/1.jpg", ["1"]), ("a/2.jpg", ["b"]), ("a/cat/3.jpg", ["cat"])],
            *[("a/../5.jpg", "bad_name"), ("a/4.jpg", "no_label")],
        ],
    ),
    "a list that is a 0 or 1 for each class": (
        [("1.jpg", IMAGE), ("1.json", b'{"label": [0, 1, 0]}')],
        [("a/1.jpg", "bad_label")],
    ),
    "a list in a list": ([("1.jpg", IMAGE), ("1.json", b'{"label": [["a"]]}')], [("a/1.jpg", "bad_label")]),
    "a blank in a list": ([("1.jpg", IMAGE), ("1.json", b'{"label": ["a", " "]}')], [("a/1.jpg", "bad_label")]),
    "a list beside a class file": (  # the class file counts, so samples have one class each
        [("1.cls", b"a"), ("1.jpg", IMAGE), ("1.json", b'{"label": [1, 2]}')],
        [("a/1.jpg", "a")],
    ),
    "a label that is a fraction": ([("1.jpg", IMAGE), ("1.json", b'{"label": 0.5}')], [("a/1.jpg", "bad_label")]),
    "a label that is a truth": ([("1.jpg", IMAGE), ("1.json", b'{"label": true}')], [("a/1.jpg", "bad_label")]),
    "JSON that is none": ([("1.jpg", IMAGE), ("1.json", b'{"label": ')], [("a/1.jpg", "bad_label")]),
    "JSON too deep": ([("1.jpg", IMAGE), ("1.json", b"[" * 100_000)], [("a/1.jpg", "bad_label")]),
    "JSON that is a list": ([("cat/1.jpg", IMAGE), ("cat/1.json", b"[7]")], [("a/cat/1.jpg", "cat")]),
    "half a surrogate in JSON": ([("1.jpg", IMAGE), ("1.json", b'{"label": "\\ud800"}')], [("a/1.jpg", "\\ud800")]),
    "members of a sample apart": (  # as WebDataset reads them
        [("1.jpg", IMAGE), ("2.jpg", IMAGE), ("2.cls", b"b"), ("1.cls", b"a")],
        [("a/1.jpg", "no_label"), ("a/2.jpg", "b"), ("a/1.cls", "missing")],
    ),
    "folders and junk": (
        [("cat", {"type": tarfile.DIRTYPE}), ("cat/._1.jpg", b"x"), ("__MACOSX/1.jpg", b"x"), ("cat/1.jpg", IMAGE)],
        [("a/cat/1.jpg", "cat")],
    ),
    "names that lead out": (
        [
            ("../1.jpg", IMAGE),
            ("/etc/2.jpg", IMAGE),
            ("cat/../../3.jpg", IMAGE),
            ("c:\\4.jpg", IMAGE),
            ("cat/5.jpg", IMAGE),
        ],
        [
            ("a/../1.jpg", "bad_name"),
            ("a//etc/2.jpg", "bad_name"),
            ("a/cat/../../3.jpg", "bad_name"),
            ("a/c:\\4.jpg", "bad_name"),
            ("a/cat/5.jpg", "cat"),
        ],
    ),
    "links and devices": (
        [
            ("cat/1.jpg", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}),
            ("cat/2.jpg", {"type": tarfile.LNKTYPE, "linkname": "cat/4.jpg"}),
            ("cat/3.jpg", {"type": tarfile.FIFOTYPE}),
            ("cat/4.jpg", IMAGE),
        ],
        [
            ("a/cat/1.jpg", "bad_name"),
            ("a/cat/2.jpg", "bad_name"),
            ("a/cat/3.jpg", "bad_name"),
            ("a/cat/4.jpg", "cat"),
        ],
    ),
    "odd names": (
        [("\u732b\n/\U0001f600 1.jpg", IMAGE), ("x/" + "long" * 60 + ".jpg", IMAGE)],
        [("a/\u732b\n/\U0001f600 1.jpg", "\u732b\n"), ("a/x/" + "long" * 60 + ".jpg", "x")],
    ),
    "names that are not UTF-8": ([("cat/\udcff.jpg", IMAGE)], [("a/cat/\\xff.jpg", "bad_name")]),
    "nothing": ([], []),
}


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("name", TARS)
def test_samples_of_a_tar(tmp_path, name, form):
    members, expected = TARS[name]
    root = source_of(tmp_path, a=tarred(members, format=form, errors="surrogateescape"))
    assert is_webdataset(open_folder(str(root)))
    assert rows(opened(root)) == expected
    assert rows(opened(root), batch_rows=1) == expected
    assert rows(opened(root / "a.tar")) == expected


def test_what_is_listed_of_an_image(tmp_path):
    root = source_of(tmp_path, a=tarred([("1.jpg", IMAGE), ("1.cls", b"x"), ("1.txt", b"text"), ("README", b"text")]))
    source = opened(root)
    [listing] = source.list_part(*source.parts(), 10)
    assert listing.skipped == {".txt": 1, "(none)": 1}
    [row] = listing.table().to_pylist()
    assert (row["source_bytes"], row["mtime_ns"]) == (7, 1_700_000_000_000_000_000)
    assert (row["path"], row["offset"]) == ("a.tar", 512)


SAMPLES = tarred([(f"{i}.{kind}", IMAGE if kind == "jpg" else b"c") for i in range(3) for kind in ("cls", "jpg")])
END = 6 * 1024


@pytest.mark.parametrize(
    ("data", "num_good", "message"),
    [
        (SAMPLES[: 5 * 1024 + 300], 2, "ends at byte 5420 without its end mark"),  # within the header of 2.jpg
        (SAMPLES[: 5 * 1024 + 515], 2, "ends at byte 5635, within '2.jpg' that begins at byte 5120"),
        (SAMPLES[: 4 * 1024], 2, "ends at byte 4096 without its end mark"),
        (SAMPLES[:END], 3, "ends at byte 6144 without its end mark"),
        (SAMPLES[:2048] + b"x" * 512 + SAMPLES[2560:], 1, "is damaged at byte 2048"),
        (SAMPLES[:2048] + bytes(512) + SAMPLES[2560:], 1, "continues after its end mark at byte 2048"),
        (SAMPLES[: END + 1024] + SAMPLES, 3, "continues after its end mark at byte 6144"),
        (b"no archive" * 100, 0, "cannot be read"),
        (b"", 0, "cannot be read"),
    ],
)
def test_of_a_broken_tar_the_samples_before_stay_and_one_row_says_where_it_broke(tmp_path, data, num_good, message):
    root = source_of(tmp_path, a=data)
    *before, last = listed(opened(root)).table.to_pylist()
    good = [row["key"] for row in before if row["reason"] is None]
    assert good == [f"a/{i}.jpg" for i in range(num_good)]
    assert {row["reason"] for row in before} - {None} <= {"missing"}  # a label whose image was cut off
    assert (last["key"], last["reason"]) == ("a.tar", "truncated")
    assert message in last["message"]


@given(st.data())
def test_any_damage_is_a_row_and_no_exception(tmp_path_factory, data):
    at = data.draw(st.integers(0, END - 1))
    broken = SAMPLES[:at] + bytes([SAMPLES[at] ^ data.draw(st.integers(1, 255))]) + SAMPLES[at + 1 :]
    root = source_of(tmp_path_factory.mktemp("tar"), a=data.draw(st.sampled_from([broken, SAMPLES[:at]])))
    table = listed(opened(root)).table
    assert len(table) <= 7


def test_a_size_below_zero_does_not_lead_round_and_round(tmp_path):
    # Base-256 of a negative number (GNU's extension), with the checksum that fits.
    header = bytearray(SAMPLES[:512])
    header[124:136] = b"\xff" * 11 + bytes([0x100 - 0x20 & 0xFF])
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    root = source_of(tmp_path, a=bytes(header) + SAMPLES[512:])
    assert listed(opened(root)).table.to_pylist()[-1]["reason"] == "truncated"


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("train-000000.tar", "train"),
        ("imagenet-val-0001.tar", "validation"),
        ("imagenet1k_TEST.0001.tar", "test"),
        ("val/0001.tar", "validation"),
        ("val/train-0001.tar", "validation"),  # the folder is said of all that is in it
        ("data/test-00000-of-00002.parquet", "test"),
        ("00000.tar", None),
        ("trainer-0001.tar", None),
        ("train-test-0001.tar", None),
        ("train-training-0001.tar", "train"),
    ],
)
def test_splits_are_told_by_folders_and_words_of_names(path, split):
    assert split_of_path(path) == split


def test_tars_in_split_folders_are_parts_of_those_splits(tmp_path):
    data = tarred([("cat/1.jpg", IMAGE)])
    root = write_tree(
        tmp_path / "s", {"train/0.tar": data, "val/0.tar": data, "val/notes.md": b"", "x-test-1.tar": data}
    )
    source = opened(root)
    assert is_webdataset(open_folder(str(root)))
    assert {(row["key"], row["split"]) for row in listed(source).table.to_pylist()} == {
        ("train/0/cat/1.jpg", "train"),
        ("val/0/cat/1.jpg", "validation"),
        ("x-test-1/cat/1.jpg", "test"),
    }
    assert len(source.parts()) == 3
    assert source.describe() == f"{root}: read as WebDataset, 3 tar files (1 of test, 1 of train, 1 of validation)"
    assert len(opened(root, output=root / "val").parts()) == 2


@pytest.mark.parametrize(
    "paths",
    [
        ["cat/1.jpg", "dog/2.jpg"],
        ["cat/1.jpg", "download.tar"],  # what the class folders came in
        ["cat/1.tar"],
        ["images.zip"],
        [],
    ],
)
def test_other_layouts_are_not_taken_for_tars(tmp_path, paths):
    root = write_tree(tmp_path / "source", dict.fromkeys(paths, b""))
    root.mkdir(exist_ok=True)
    assert not is_webdataset(open_folder(str(root)))


@pytest.mark.parametrize("name", ["a.tar.gz", "a.TGZ", "a.tar.zst"])
def test_compressed_tars_are_refused_with_the_remedy(tmp_path, name):
    root = write_tree(tmp_path / "source", {name: b"", "b.tar": tarred([])})
    assert is_webdataset(open_folder(str(root)))
    for path in (root, root / name):
        with pytest.raises(DataError, match=rf"{name}: .*; unpack it with gzip -d"):
            opened(path)


def test_a_source_without_tars_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"there is no \.tar file"):
        opened(write_tree(tmp_path, {"x/": b""}))


def test_the_key_of_the_class_in_json_can_be_named(tmp_path):
    content = json.dumps({"label": "wrong", "breed": "pug"}).encode()
    root = source_of(tmp_path, a=tarred([("1.jpg", IMAGE), ("1.json", content)]))
    assert rows(opened(root, label_columns=("breed",))) == [("a/1.jpg", "pug")]
    assert rows(open_source(str(root), SourceOptions(label_columns=("breed",)))) == [("a/1.jpg", "pug")]
    with pytest.raises(CallError, match="give one label_columns"):
        opened(root, label_columns=("breed", "label"))


def test_a_tar_that_went_away_is_said(tmp_path):
    root = source_of(tmp_path, a=tarred([]))
    source = opened(root)
    (root / "a.tar").unlink()
    with pytest.raises(DataError, match=r"a\.tar: the archive is gone"):
        listed(source)


def test_tars_in_an_object_store_are_read(s3_bucket):
    folder = open_folder(f"{s3_bucket}/below")
    with folder.atomic_write("train-0.tar") as file:
        file.write(tarred([("cat/1.jpg", IMAGE), ("cat/2.jpg", IMAGE)]))
    assert is_webdataset(folder)
    source = open_webdataset(Opening(folder))
    assert rows(source) == [("train-0/cat/1.jpg", "cat"), ("train-0/cat/2.jpg", "cat")]


names = st.sampled_from(["cat/1", "cat/2", "dog/1", "1", "2"])
kinds = st.sampled_from(["jpg", "png", "cls", "json", "txt", "seg.png"])


@given(st.lists(st.tuples(names, kinds), max_size=12))
def test_every_member_is_listed_or_skipped_or_a_label_and_every_key_is_listed_once_a_run(tmp_path_factory, members):
    content = {"cls": b"c", "json": b"{}"}
    data = tarred([(f"{name}.{kind}", content.get(kind, IMAGE)) for name, kind in members])
    source = opened(source_of(tmp_path_factory.mktemp("tar"), a=data))
    table = listed(source).table.to_pylist()
    runs = [name for i, (name, _) in enumerate(members) if i == 0 or members[i - 1][0] != name]
    assert len(table) <= len(runs)
    for row in table:
        kind = row["key"].partition(".")[2]
        assert (row["reason"] == "missing") == (kind in {"cls", "json"})
        if row["reason"] is None:
            assert source.folder.read_range("a.tar", row["offset"], row["source_bytes"]) == IMAGE


def test_a_list_behind_the_first_samples_is_refused_by_name(tmp_path):
    samples = [member for i in range(300) for member in ((f"{i:03}.jpg", IMAGE), (f"{i:03}.json", b'{"label": 1}'))]
    samples[-1] = ("299.json", b'{"label": [1, 2]}')
    found = listed(opened(source_of(tmp_path, a=tarred(samples)))).table.to_pylist()
    assert [row["label_name"] for row in found[:-1]] == ["1"] * 299
    assert found[-1]["reason"] == "bad_label"
    assert "'label' in 299.json is a list, and the first samples have one class each" in found[-1]["message"]


def test_a_binary_class_is_shown_and_text_asked_for(tmp_path):
    source = opened(source_of(tmp_path, a=tarred([("1.jpg", IMAGE), ("1.cls", b"\5\0\0\0")])))
    [row] = listed(source).table.to_pylist()
    assert row["message"] == (
        "1.cls holds b'\\x05\\x00\\x00\\x00', not a line of text; write the class as text, such as 5 or cat"
    )


def test_files_beside_the_shards_are_counted_once(tmp_path):
    data = tarred([("cat/1.jpg", IMAGE)])
    shards = {"a-train.tar": data, "b-train.tar": data, "val/c.tar": data}
    beside = {"l0.jpg": b"", "l1.jpg": b"", "val/l2.JPG": b"", "val/sizes.json": b"", ".DS_Store": b"", "README": b""}
    root = write_tree(tmp_path / "source", shards | beside)
    assert listed(opened(root)).skipped == {"(none)": 1, ".jpg": 3, ".json": 1}
    assert listed(opened(root, output=root / "val")).skipped == {"(none)": 1, ".jpg": 2}
    # What lies beside a file that is the source is not in it.
    assert listed(opened(root / "a-train.tar")).skipped == {}


@pytest.mark.parametrize(
    ("tars", "name", "said"),
    [
        (["a"], None, ": read as WebDataset, 1 tar file (no split)"),
        (["train-0", "train-1"], None, ": read as WebDataset, 2 tar files (train)"),
        (["a"], "a.tar", "/a.tar: read as WebDataset (no split)"),
        (["a", "val-0"], "val-0.tar", "/val-0.tar: read as WebDataset (validation)"),
    ],
)
def test_what_the_user_called_the_source_is_announced(tmp_path, tars, name, said):
    root = source_of(tmp_path, **dict.fromkeys(tars, tarred([("1.jpg", IMAGE), ("1.cls", b"x")])))
    assert opened(root / (name or "")).describe() == f"{root}{said}"


def test_several_classes_a_sample_are_announced(tmp_path):
    root = source_of(tmp_path, a=tarred([("1.jpg", IMAGE), ("1.json", b'{"label": [1]}')]))
    assert opened(root).describe().endswith(", any number of classes a sample")


# name: labels of two shards, the file next to them, the classes, and the end of the sentence about the source
NUMBERS = {
    "names of 0, 1, …": (["1", "0", "2"], "bus\ncar\nvan\n", ["car", "bus", "van"], ", classes of classes.txt"),
    "lists of numbers": (["[2]", "[0]", "[1]"], "bus\ncar\nvan\n", ["van", "bus", "car"], ", classes of classes.txt"),
    "numbers with names": (["7", "7", "5"], "5 bus\n6 car\n7 van\n", ["van", "van", "bus"], ", classes of classes.txt"),
    "a name more": (["0", "1", "0"], "bus\ncar\nvan\n", ["0", "1", "0"], "note: not used: classes.txt: it names 3 .*"),
    "a name less": (
        ["0", "1", "2"],
        "bus\ncar\n",
        ["0", "1", "2"],
        "note: not used: .*it names 2 classes, .* 0 to 2.*",
    ),
    "labels that are names": (["van", "bus", "1"], "bus\ncar\nvan\n", ["van", "bus", "1"], r"\(no split\)"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_file_of_as_many_names_as_there_are_numbers_names_the_classes(tmp_path, name):
    labels, text, expected, said = NUMBERS[name]
    contents = [json.dumps({"label": json.loads(one) if one.startswith("[") else one}) for one in labels]
    samples = [[(f"{i}.jpg", IMAGE), (f"{i}.json", content.encode())] for i, content in enumerate(contents)]
    root = source_of(tmp_path, a=tarred(samples[0] + samples[1]), b=tarred(samples[2]))
    write_tree(root, {"classes.txt": text.encode()})
    source = opened(root)
    assert re.search(f"{said}$", source.describe().replace(", any number of classes a sample", ""))
    found = listed(source)
    assert [label for _, _, label in found.labels] == ([[one] for one in expected] if labels[0][0] == "[" else expected)
    is_used = "classes of" in said
    assert (source.classes is not None, found.skipped) == (is_used, {} if is_used else {".txt": 1})


DEEP = [("ds/train/cat/1.jpg", IMAGE), ("ds/val/dog/2.jpg", IMAGE)]


@pytest.mark.parametrize(
    ("members", "are_samples"),
    [
        (DEEP, False),
        ([("cat/1.jpg", IMAGE)], False),
        ([("images/1.jpg", IMAGE), ("labels/1.txt", b"0 1 1 1 1")], False),  # YOLO's
        ([("1.jpg", IMAGE), ("cat/2.jpg", IMAGE)], False),
        ([("annotations/all.json", b"{}"), ("images/1.jpg", IMAGE)], False),  # COCO's
        ([*DEEP, ("ds/val/3.cls", b"x"), ("ds/val/3.jpg", IMAGE)], True),
        ([("cat/1.jpg", IMAGE), ("cat/1.json", b"{}")], True),
        ([("1.jpg", IMAGE)], True),  # no folder that could be its class: reported sample by sample
        ([], True),
    ],
)
def test_samples_are_told_from_trees_by_labels_beside_images(tmp_path, members, are_samples):
    root = source_of(tmp_path, a=tarred(members), broken=b"no archive")
    assert holds_samples(open_folder(str(root)), "a.tar") == are_samples
    assert holds_samples(open_folder(str(root)), "broken.tar")


def test_shards_that_are_trees_are_refused_with_the_remedy(tmp_path):
    root = source_of(tmp_path, a=tarred(DEEP))
    for path in (root, root / "a.tar"):
        with pytest.raises(
            DataError, match=r"a\.tar: its images lie in folders in folders.*; give the \.tar itself as"
        ):
            opened(path)
