"""Classes of masks that nobody named, from files to the reader."""

import numpy as np
import pytest
from PIL import Image

from shardkit import Selection, append, convert
from shardkit.images import check_mask
from shardkit.options.groups import ConvertOptions
from shardkit.sources.opening import open_source
from shardkit.testing import encoded, plan_without_beam, write_tree


def mask(values, dtype=np.uint8):
    return encoded(Image.fromarray(np.array(values, dtype).repeat(8, 0).repeat(8, 1)), "PNG")


def source(root, masks, more=None):
    files = dict(more or {})
    for number, values in enumerate(masks):
        picture = np.random.default_rng([len(masks), number]).integers(0, 256, (16, 16, 3), np.uint8)
        files[f"images/{number}.png"] = encoded(Image.fromarray(picture), "PNG")
        files[f"masks/{number}.png"] = values if isinstance(values, bytes) else mask(values)
    return write_tree(root, files)


@pytest.mark.parametrize(
    ("data", "last"),
    [
        (mask([[0, 1], [2, 7]]), 7),
        (mask([[0, 1], [2, 255]]), 2),
        (mask([[255, 255], [255, 255]]), -1),
        (mask([[0, 300], [255, 65535]], np.uint16), 300),
        (encoded(Image.new("1", (16, 16), 1), "PNG"), 1),
    ],
    ids=["numbers", "a border", "a border alone", "16 bits", "1 bit"],
)
def test_the_last_class_of_a_mask(data, last):
    assert check_mask(data).last_class == last


@pytest.mark.parametrize(
    ("masks", "names"),
    [
        ([[[0, 1], [2, 255]], [[0, 0], [0, 4]]], list("01234")),
        ([[[0, 255], [255, 255]]], ["0", "1"]),
        ([[[0, 255], [255, 255]], [[0, 1], [255, 255]]], ["0", "1"]),
        ([[[0, 255], [255, 255]], [[0, 2], [255, 255]]], ["0", "1", "2"]),
        ([mask([[0, 65535], [0, 0]], np.uint16)], ["0", "1"]),
        ([mask([[0, 300], [1, 2]], np.uint16)], []),
        ([mask([[0, 3], [1, 65535]], np.uint16)], list("0123")),
    ],
    ids=["numbers", "0 and 255", "1 too", "2 too", "0 and 65535", "instances", "16 bits"],
)
def test_classes_are_the_numbers(masks, names, tmp_path):
    plan = plan_without_beam(open_source(str(source(tmp_path, masks))), ConvertOptions())
    assert plan.classes == names
    assert "last_class" not in plan.schema.names


def test_a_border_of_a_class_of_its_own_is_counted(tmp_path):
    root = str(source(tmp_path, [[[0, 1], [1, 0]]]))
    for border, names in ((0, ["0", "1"]), (3, ["0", "1", "2", "3"]), (255, ["0", "1"])):
        options = ConvertOptions.of({"size": (24, 32), "fit": "pad", "mask_padding": border})
        assert plan_without_beam(open_source(root), options).classes == names


def test_numbers_beyond_the_names_are_listed(tmp_path):
    root = source(tmp_path / "source", [[[0, 1], [1, 0]], [[0, 1], [2, 255]]])
    options = ConvertOptions(classes=("sky", "cat"))
    findings = plan_without_beam(open_source(str(root)), options).findings
    (found,) = [one for one in findings if one.code == "mask_of_unknown_class"]
    assert list(found.examples) == ["images/1.png"]
    assert found.sentence == "class numbers of 1 mask go up to 2, but the last that has a name is 1"


def test_files_that_are_not_opened_tell_no_classes(tmp_path):
    source_ = open_source(str(source(tmp_path, [[[0, 1], [2, 3]]])))
    assert plan_without_beam(source_, ConvertOptions(check="header")).classes == []
    plan = plan_without_beam(source_, ConvertOptions(check="header", classes=("sky", "cat")))
    assert "mask_of_unknown_class" not in [finding.code for finding in plan.findings]


def test_a_model_has_an_output_for_each_class_also_after_append_and_convert(tmp_path):
    from shardkit import reader

    first = source(tmp_path / "first", [[[0, 1], [2, 255]]] * 4)
    second = source(tmp_path / "second", [[[0, 1], [2, 3]]] * 5)
    for number in range(5):  # keys of their own
        for folder in ("images", "masks"):
            (second / folder / f"{number}.png").rename(second / folder / f"new{number}.png")
    output, corrected = str(tmp_path / "out"), str(tmp_path / "corrected")
    convert(str(first), output)
    assert reader.make_dataset_fn(output, "train", global_batch_size=2, image_size=(8, 8)).num_classes == 3
    append(output, str(second))
    made = reader.make_dataset_fn(output, "train", global_batch_size=2, image_size=(8, 8))
    assert (made.num_classes, made.class_names) == (4, ["0", "1", "2", "3"])
    convert(output, corrected, selection=Selection(where="height >= 16"))
    assert reader.make_dataset_fn(corrected, "train", global_batch_size=2, image_size=(8, 8)).num_classes == 4
