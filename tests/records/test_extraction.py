import json
import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import shardkit
from shardkit.comparison import diff_datasets
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError, RecordError
from shardkit.records import extraction
from shardkit.testing import picture, write_tree

from ..cli.calling import call, convert
from ..dataset.foreign.records import coco, write
from ..record_sources.datasets.converting import convert as convert_options


def extracted(dataset, folder, splits=(), where=None):
    """The paths of the images, as posix strings."""
    return [path.as_posix() for path in extraction.extract(dataset, str(folder), splits, where)]


def rows_of(folder):
    return [json.loads(line) for line in (folder / "examples.jsonl").read_text().splitlines()]


def extracted_and_converted(dataset, tmp_path, monkeypatch, *options):
    """The dataset that the printed command makes of the extracted folder."""
    monkeypatch.chdir(tmp_path)
    result = call("extract", dataset, "my folder", *options)
    assert result.exit_code == 0, result.output
    (program, *command) = shlex.split(result.stdout.splitlines()[-1])
    assert (program, call(*command).exit_code) == ("shardkit", 0)
    return read_manifest("OUT")


def assert_equal(before, after, num_examples):
    found = diff_datasets(before, after)
    assert found.equal, found.as_json()
    assert found.num_same == num_examples
    assert (after.classes, after.features) == (before.classes, before.features)
    assert [*after.splits] == [*before.splits]


@pytest.mark.parametrize(
    ("source", "num_examples"),
    [("shapes", 240), ("coco", 24), ("yolo", 24), ("masks", 12), ("multilabel.jsonl", 240), ("hf", 12)],
)
def test_the_printed_command_gives_the_same_dataset_again(source, num_examples, sample, tmp_path, monkeypatch):
    before = read_manifest(sample(source))
    assert_equal(before, extracted_and_converted(sample(source), tmp_path, monkeypatch), num_examples)
    images = [one for name in before.splits for one in shardkit.open(sample(source), name)]
    rows = rows_of(tmp_path / "my folder")
    assert [row["key"] for row in rows] == [one.key for one in images]
    assert all(
        (tmp_path / "my folder" / row["file"]).read_bytes() == one["image"]
        for row, one in zip(rows, images, strict=True)
    )
    lines = (tmp_path / "my folder" / "classes.txt").read_text().splitlines() if before.classes else []
    assert lines == before.classes


def small(tmp_path, columns, **options):
    """A dataset of six images, made from a table of columns."""
    for i in range(6):
        write_tree(tmp_path / "in", {f"{i}.png": picture(i)})
    rows = [{"image": f"{i}.png", **{name: values[i] for name, values in columns.items()}} for i in range(6)]
    (tmp_path / "in" / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return convert_options(tmp_path / "in" / "t.jsonl", tmp_path / "dataset", **options)


LABELS = {"label": ["a", "b"] * 3}
KINDS = {
    "classes in another order, one of them empty": (LABELS, {"classes": ["z", "b", " a;b,\u2028c ", "a"]}),
    "one class": ({"label": ["a"] * 6}, {}),
    "classes that are numbers": ({"label": [7, 12] * 3}, {"label_type": "class"}),
    "splits": (LABELS | {"split": ["test", "train", "held"] * 2}, {"layout": "table"}),
    "made splits": (LABELS, {"splits": "train=0.5,test=0.5", "group_by": "site"} | {}),
    "several numbers": ({"label": [[i + 0.1, -1.5] for i in range(6)]}, {"label_type": "number"}),
    "reserved names": (
        LABELS
        | {"weight": range(6), "key": list("uvwxyz"), "objects/x": [0.5, None, 1e30, 2.0, 3.0, -0.0]}
        | {"source/weight2": ["7", "08", "", "null", "[]", "\u00e9\U0001f600"], "file": list("abcdef")},
        {},
    ),
    "lists": (
        LABELS | {"none": [[]] * 5 + [["x"]], "ids": [[1 << 62], [], [-1, 2], [3], [4], [5]], "f": [[0.1]] * 5 + [[]]},
        {},
    ),
    "no label for some": ({"labels": [["a"], [], ["b", "a"], ["c"], [], ["b"]]}, {}),
    "a table without labels": (LABELS, {"unlabelled": True}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_dataset_comes_back(kind, tmp_path, monkeypatch):
    columns, options = KINDS[kind]
    if "group_by" in options:
        columns = columns | {"site": [f"s{i // 2}" for i in range(6)]}
    if "unlabelled" in options:
        write_tree(tmp_path / "in", {f"sub/{i}.png": picture(i) for i in range(6)})
        convert_options(tmp_path / "in", tmp_path / "dataset", **options)
    else:
        small(tmp_path, columns, **options)
    before = read_manifest(str(tmp_path / "dataset"))
    after = extracted_and_converted(tmp_path / "dataset", tmp_path, monkeypatch)
    assert_equal(before, after, 6)
    assert not [name for name in after.features if name.startswith("source/source/")]
    convert_options(tmp_path / "OUT", tmp_path / "third")
    assert read_manifest(str(tmp_path / "third")).features == before.features


def test_adopted_records_come_back_with_the_names_of_the_manifest(tmp_path, monkeypatch):
    write(tmp_path / "old" / "test-0.tfrecord", [coco(i, [(2, "dog"), (1, "person")][: i % 3]) for i in range(4)])
    before = shardkit.adopt(tmp_path / "old", into=tmp_path / "dataset")
    after = extracted_and_converted(tmp_path / "dataset", tmp_path, monkeypatch)
    assert_equal(before, after, 4)


def test_a_part_comes_back_as_that_part_and_an_edited_table_as_the_corrected_dataset(sample, tmp_path, monkeypatch):
    after = extracted_and_converted(sample("coco"), tmp_path, monkeypatch, "--split", "train", "--where", "1 in labels")
    wanted = [one.key for one in shardkit.open(sample("coco"), "train", where="1 in labels")]
    assert sorted(one.key for one in shardkit.open("OUT", "train")) == sorted(wanted)
    assert after.classes == read_manifest(sample("coco")).classes
    rows = rows_of(tmp_path / "my folder")
    rows[0] |= {"key": "new", "split": "held"}
    rows[0]["objects"][0]["label"] = "square"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "my folder" / "examples.jsonl").write_text(text)
    convert("my folder", "NEW")
    assert shardkit.open("NEW", "held")["new"].label_names[0] == "square"


def test_no_command_is_printed_for_a_part_without_images(sample, tmp_path):
    result = call("extract", sample("shapes"), tmp_path / "none", "--where", "height < 0")
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path / 'none'}: 0 images\n")


BAD_VALUES = {
    "key": (None, "bad_name", "the column 'key' holds None, not a text"),
    "file": ("../../x.png", "bad_path", "the path '../../x.png' may not be followed"),
    "split": ("a/b", "bad_split", "a/b"),
    "age": ("old", "bad_value", "the column 'age' holds 'old', not a whole number"),
    "label": (["a"], "no_label", "the column 'label' holds .*, not the name of a class"),
    "more": (1, "bad_line", "it names 'more' besides"),
    "text": (1.5, "bad_value", "the column 'text' holds 1.5, not a text"),
    "weight": (True, "bad_value", "holds True, not a number"),
}


@pytest.mark.parametrize("column", BAD_VALUES)
def test_a_value_that_its_column_cannot_hold_rejects_the_record(column, tmp_path, monkeypatch):
    value, reason, sentence = BAD_VALUES[column]
    small(tmp_path, LABELS | {"age": range(6), "text": ["a"] * 6, "weight": [0.5] * 6})
    extracted(str(tmp_path / "dataset"), tmp_path / "folder")
    rows = rows_of(tmp_path / "folder")
    rows[2][{"weight": "source/weight"}.get(column, column)] = value
    (tmp_path / "folder/examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    convert("folder", "OUT", "--max-rejected", "1")
    (rejected,) = pq.read_table("OUT/rejected.parquet").to_pylist()
    assert rejected["reason"] == reason
    assert re.search(sentence, rejected["message"])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("extracted.json", "{}", "extracted.json: the file is not what `shardkit extract` writes, at features"),
        ("extracted.json", "", "extracted.json: the file is not what"),
        ("extracted.json", '{"format_version": 2}', "at format_version"),
        ("classes.txt", None, "classes.txt: the file is missing"),
        ("examples.jsonl", None, "examples.jsonl: the file is missing"),
        ("classes.txt", "a\n", "'b'"),
    ],
)
def test_a_damaged_folder_is_a_sentence(name, content, sentence, tmp_path):
    small(tmp_path, LABELS)
    extracted(str(tmp_path / "dataset"), tmp_path / "folder")
    path = tmp_path / "folder" / name
    path.unlink() if content is None else path.write_text(content)
    result = call("convert", tmp_path / "folder", tmp_path / "new")
    assert result.exit_code in {1, 2}
    assert sentence in result.stderr
    assert (result.stderr.count("Error: "), "Traceback" in result.stderr) == (1, False)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("cat", "cat"),
        ("Käfer 1", "Käfer 1"),
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        (".hidden", "%2Ehidden"),
        ("con\n", "con%0A"),
        ("50%", "50%25"),
        ("dot.", "dot%2E"),
        ("x" * 200, "x" * 200),
        ("", "%00"),
    ],
)
def test_a_name_is_one_part_of_a_path(name, safe):
    assert extraction.safe_name(name) == safe


def test_keys_that_shorten_to_one_path_are_both_written(tmp_path):
    from PIL import Image

    for number, path in enumerate(["cat/a.png", "train/cat/a.png", "a.png"]):
        (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (number, 0, 0)).save(tmp_path / "in" / path)
    table = [json.dumps({"image": path, "label": "cat"}) for path in ["cat/a.png", "train/cat/a.png", "a.png"]]
    (tmp_path / "in/t.jsonl").write_text("\n".join(table))
    convert(tmp_path / "in/t.jsonl", tmp_path / "out", "--layout", "table")
    paths = extracted(str(tmp_path / "out"), tmp_path / "folder")
    assert len(set(paths)) == 3
    images = {(tmp_path / "folder" / path).read_bytes() for path in paths}
    assert images == {example["image"] for example in shardkit.open(str(tmp_path / "out"), "train")}


def test_a_folder_with_files_is_refused_and_an_interruption_leaves_none(sample, own, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a").touch()
    with pytest.raises(CallError, match="full: this already exists"):
        extracted(sample("shapes"), tmp_path / "full")
    dataset = own("shapes")
    place = shardkit.open(dataset, "train")[50].location
    with open(Path(dataset, place.shard), "r+b") as file:
        file.seek(place.offset + 20)
        file.write(b"\0\0\0\0")
    with pytest.raises(RecordError, match="record 50"):
        extracted(dataset, tmp_path / "new")
    assert not [*tmp_path.glob("new*")]
    (tmp_path / "new.unfinished").mkdir()  # of a killed process
    with pytest.raises(CallError, match=r"new\.unfinished: .*remove this folder"):
        extracted(dataset, tmp_path / "new")


def test_an_extraction_that_is_not_finished_leaves_nothing(sample, tmp_path):
    running = extraction.extract(sample("shapes"), str(tmp_path / "new"), [], None)
    next(running)
    assert (tmp_path / "new.unfinished").exists()
    running.close()  # as Ctrl-C does in the command
    assert not [*tmp_path.iterdir()]


def test_long_names_with_the_same_beginning_stay_apart():
    names = {extraction.safe_name("x" * 300 + end) for end in "abc"}
    assert len(names) == 3
    assert all(len(name.encode()) == 200 for name in names)
