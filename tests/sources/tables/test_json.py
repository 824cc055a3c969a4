"""Tables in .json files, and .json files that are none."""

import json

import pytest

from shardkit.errors import CallError, DataError
from shardkit.sources import SourceOptions
from shardkit.sources.formats.tables.json_files import json_kind
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import listed, read_source

from ..table_reading import rows, write

RECORDS = [{"image": "a.jpg", "label": "cat", "age": 1.5}, {"image": "b.jpg", "label": "dog", "age": None}]

# name: a file, and key and label, or key and reason
JSON = {
    "a list of objects": (json.dumps(RECORDS), [("a.jpg", "cat"), ("b.jpg", "dog")]),
    "with a byte order mark, indented": (
        "\ufeff" + json.dumps(RECORDS, indent=2),
        [("a.jpg", "cat"), ("b.jpg", "dog")],
    ),
    "labels by image": ('{"a.jpg": "cat", "b/c.PNG": "dog"}', [("a.jpg", "cat"), ("b/c.PNG", "dog")]),
    "numbers by image": (
        '{\n "a.jpg": 0,\n "b.jpg": 1.0,\n "c.jpg": null}',
        [("a.jpg", "0"), ("b.jpg", "1"), ("c.jpg", "no_label")],
    ),
    "JSON Lines": ("\n".join(map(json.dumps, RECORDS)), [("a.jpg", "cat"), ("b.jpg", "dog")]),
    "an element that is no object": (
        '[{"image": "a.jpg", "label": "cat"}, 3, {"image": "b.jpg", "label": "x"}]',
        [("a.jpg", "cat"), ("labels.json, line 2", "bad_line"), ("b.jpg", "x")],
    ),
    "half a surrogate pair": (
        '[{"image": "a.jpg", "label": "cat"}, {"image": "\\ud800", "label": "x"}]',
        [("a.jpg", "cat"), ("labels.json, line 2", "bad_line")],
    ),
    "a column that some lack": (
        '[{"image": "a.jpg", "label": "cat"}, {"image": "b.jpg"}]',
        [("a.jpg", "cat"), ("b.jpg", "no_label")],
    ),
}


@pytest.mark.parametrize(("content", "expected"), JSON.values(), ids=JSON.keys())
def test_a_json_table_is_read_without_a_flag(content, expected, tmp_path):
    path = write(tmp_path, content, "labels.json")
    source = open_source(str(path))
    assert source.layout.startswith("table (JSON")
    assert rows(path, "key", "label_name") == expected
    assert listed(source).table["key"].to_pylist() == [row[0] for row in expected]


def test_several_labels_by_image(tmp_path):
    path = write(tmp_path, '{"a.jpg": ["cat", "dog"], "b.jpg": []}', "labels.json")
    assert rows(path, "key", "label_names") == [("a.jpg", ["cat", "dog"]), ("b.jpg", [])]


# What pandas.DataFrame({"image": ["a.jpg"], "label": ["cat"]}).to_json(orient=…) writes.
PANDAS = {
    "columns": '{"image":{"0":"a.jpg"},"label":{"0":"cat"}}',
    "index": '{"0":{"image":"a.jpg","label":"cat"}}',
    "split": '{"columns":["image","label"],"index":[0],"data":[["a.jpg","cat"]]}',
    "table": '{"schema":{"fields":[{"name":"index","type":"integer"}]},"data":[{"index":0,"image":"a.jpg"}]}',
}


@pytest.mark.parametrize("content", PANDAS.values(), ids=PANDAS.keys())
def test_other_json_of_pandas_is_refused_with_the_one_that_is_read(content, tmp_path):
    path = write(tmp_path, content, "a.json")
    with pytest.raises(DataError, match=r'a table in JSON is a list of objects.* orient="records"'):
        open_source(str(path))


# name: a file that is no table
OTHERS = {
    "COCO": json.dumps({"images": [], "annotations": [], "categories": []}),
    "COCO with its info": json.dumps({"info": {"year": 2017}, "images": [{"id": 1, "file_name": "a.jpg"}]}),
    "Labelme": json.dumps({"version": "5.0.1", "shapes": [], "imagePath": "a.jpg"}),
    "objects by image": json.dumps({"a.jpg": {"boxes": []}}),
    "one image among other names": json.dumps({"a.jpg": "cat", "version": "1"}),
    "nothing": "{}",
    "a number": "3",
    "an empty file": "",
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS.keys())
def test_other_json_is_no_table(content, tmp_path):
    write(tmp_path, content, "a.json")
    assert json_kind(open_folder(str(tmp_path)), "a.json") is None


def test_cocos_list_of_gigabytes_is_not_read_to_tell_that_it_is_no_table(tmp_path):
    # Damaged right after the beginning: whoever parses the list fails.
    path = write(tmp_path, '{"images": [' + "x" * 1000, "a.json")
    assert json_kind(open_folder(str(tmp_path)), path.name) is None


def test_coco_stays_coco(tmp_path):
    images = [{"id": 1, "file_name": "a.jpg", "width": 8, "height": 8}]
    content = {"images": images, "annotations": [], "categories": [{"id": 1, "name": "cat"}]}
    path = write(tmp_path, json.dumps(content), "a.json")
    (tmp_path / "a.jpg").write_bytes(b"")
    assert "COCO" in open_source(str(path)).layout
    with pytest.raises(DataError, match="a table in JSON is a list of objects"):
        open_source(str(path), SourceOptions(layout="table"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "no element of the table can be read as a JSON object with columns; it is empty"),
        ("[1, 2]", "element 1: it is not a JSON object"),
        ('[{"image": "a.jpg", "label": "cat"}, {"image":', "line 1, character 47 of the file: .*truncated"),
        ('[{"image": "a.jpg", "label": "cat"} {"image": 3}]', "expected ','"),
        ('[{"image": "a.jpg", "image": "b.jpg", "label": "cat"}]', "it names 'image' twice"),
        ('[{"image": "a.jpg", "label": "cat"}] x', "more text after the end"),
    ],
)
def test_a_damaged_list_is_refused_with_its_place(content, message, tmp_path):
    path = write(tmp_path, content, "a.json")
    with pytest.raises((CallError, DataError), match=message):
        read_source(path)
