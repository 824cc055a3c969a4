"""Several datasets that become one."""

import pytest

import shardkit
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError
from shardkit.records.extraction import extract
from shardkit.records.sequence import Examples
from shardkit.testing import append_without_beam, picture, write_class_folders, write_tree

from .converting import convert, examples


def names(path):
    return {key: values["names"] for key, (_, values) in examples(path).items()}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two datasets with one class in common; their numbers of it differ."""
    root = tmp_path_factory.mktemp("two")
    for name, counts in (("A", {"cat": 4, "dog": 3}), ("B", {"ant": 2, "cat": 5, "eel": 2})):
        convert(write_class_folders(root / f"raw {name}", counts, width=9 if name == "A" else 10), root / name)
    return root


def test_classes_are_those_of_the_first_and_then_new_ones(two, tmp_path):
    both = str(two / "A"), str(two / "B")
    made = convert(both[0], tmp_path / "new", also=both[1:], key_prefix=True)
    assert made.classes == ["cat", "dog", "ant", "eel"]
    assert made.splits["train"].class_counts == [9, 3, 2, 2]
    wanted = {f"{name}/{key}": found for name in "AB" for key, found in names(two / name).items()}
    assert names(tmp_path / "new") == wanted
    for key, (_, values) in examples(tmp_path / "new").items():
        assert values["image"] == examples(two / key[0])[key[2:]][1]["image"]


def test_conditions_and_changes_name_the_new_keys_and_numbers(two, tmp_path):
    options = {"also": [str(two / "B")], "key_prefix": True}
    convert(
        two / "A",
        tmp_path / "new",
        where="label in (0, 3) and key != 'B/cat/001.png'",
        drop=["A/cat/000.png"],
        labels={"B/ant/000.png": "eel"},
        **options,
    )
    found = names(tmp_path / "new")
    assert sorted(found) == [
        *(f"A/cat/00{i}.png" for i in (1, 2, 3)),
        "B/ant/000.png",
        *(f"B/cat/00{i}.png" for i in (0, 2, 3, 4)),
        *(f"B/eel/00{i}.png" for i in (0, 1)),
    ]
    assert found["B/ant/000.png"] == ["eel"]
    with pytest.raises(CallError, match=r"'cat/000.png'"):
        convert(two / "A", tmp_path / "other", drop=["cat/000.png"], **options)


def test_boxes_and_several_labels_are_matched_by_name_too(tmp_path):
    for name, (first, second) in (("A", "zx"), ("B", "xy")):
        boxes = f"image,xmin,ymin,xmax,ymax,label\n{name}.png,1,1,5,5,{first}\n{name}.png,2,2,6,6,{second}\n"
        raw = write_tree(tmp_path / f"raw {name}", {f"{name}.png": picture(ord(name)), "boxes.csv": boxes.encode()})
        convert(raw, tmp_path / name)
    made = convert(tmp_path / "A", tmp_path / "new", also=[str(tmp_path / "B")])
    assert made.classes == ["x", "z", "y"]
    assert names(tmp_path / "new") == {"A.png": ["z", "x"], "B.png": ["x", "y"]}
    assert Examples(str(tmp_path / "new"), "train", "2 in labels").index["key"].to_pylist() == ["B.png"]
    convert(tmp_path / "A", tmp_path / "part", also=[str(tmp_path / "B")], where="2 in labels")
    assert names(tmp_path / "part") == {"B.png": ["x", "y"]}


def test_datasets_that_do_not_fit_are_refused(two, tmp_path):
    a, b = str(two / "A"), str(two / "B")
    with pytest.raises(CallError, match=r"4 keys are in several datasets: 'cat/000.png', .*key_prefix=True"):
        convert(a, tmp_path / "new", also=[b])
    with pytest.raises(CallError, match="layout='coco' reads one source"):
        convert(a, tmp_path / "new", also=[b], key_prefix=True, layout="coco")
    with pytest.raises(CallError, match="given twice"):
        convert(a, tmp_path / "new", also=[a], key_prefix=True)
    with pytest.raises(CallError, match="inside it"):
        convert(a, two / "B" / "new", also=[b], key_prefix=True)
    convert(write_class_folders(tmp_path / "raw", {"x": 2}), tmp_path / "unlabelled", unlabelled=True)
    with pytest.raises(CallError, match=r"differ in the feature 'label': .*A has int64 .*unlabelled has none"):
        convert(a, tmp_path / "new", also=[str(tmp_path / "unlabelled")])
    convert(a, tmp_path / "A")
    with pytest.raises(CallError, match="two folders are called 'A'"):
        convert(a, tmp_path / "new", also=[str(tmp_path / "A")], key_prefix=True)
    assert read_manifest(b).classes == ["ant", "cat", "eel"]


def test_pins_of_one_dataset_are_merged_with_a_prefix_each(tmp_path):
    write_class_folders(tmp_path / "in", {"ant": 2, "bee": 2})
    write_class_folders(tmp_path / "more", {"cat": 1, "dog": 1})
    first = convert(tmp_path / "in", tmp_path / "out")
    grown = append_without_beam(str(tmp_path / "out"), str(tmp_path / "more")).manifest
    old, new = f"{tmp_path}/out@sha256:{first.digest}", str(tmp_path / "out")
    with pytest.raises(CallError, match=r"4 keys are in several datasets.*add key_prefix=True"):
        convert(old, tmp_path / "both", also=[new])
    with pytest.raises(CallError, match="given twice"):
        convert(old, tmp_path / "both", also=[old])
    convert(old, tmp_path / "both", also=[new], key_prefix=True)
    keys = [key.partition("/") for key in examples(tmp_path / "both")]
    counts = {prefix: sum(one[0] == prefix for one in keys) for prefix, _, _ in keys}
    assert counts == {f"out@{first.digest[:12]}": 4, f"out@{grown.digest[:12]}": 6}


def test_a_pin_is_no_output(tmp_path):
    write_class_folders(tmp_path / "in", {"ant": 2, "bee": 2})
    made = convert(tmp_path / "in", tmp_path / "out")
    pin = f"{tmp_path}/out@sha256:{made.digest}"
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CallError, match=f"OUTPUT is {pin}, and a pin is .*; write into {tmp_path}/out or a new"):
        convert(tmp_path / "in", pin)
    with pytest.raises(CallError, match=r"into is .*, and a pin is for reading"):
        shardkit.adopt(tmp_path / "out", into=pin)
    with pytest.raises(CallError, match=r"FOLDER is .*, and a pin is for reading"):
        list(extract(str(tmp_path / "out"), pin, (), None))  # its printed command would read the dataset instead
    assert sorted(tmp_path.iterdir()) == before
