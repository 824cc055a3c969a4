"""`show`, `preview` and `extract`, as users call them."""

import pytest
from PIL import Image

from .calling import SAMPLE_DATA, call, convert


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    out = tmp_path_factory.mktemp("pictures") / "out"
    convert(SAMPLE_DATA / "coco", out)
    return out


def test_show_tells_features_and_place_and_draws_the_picture(dataset, tmp_path):
    result = call("show", dataset, "train2017/train_04.jpg", "-o", tmp_path / "one.png")
    assert result.exit_code == 0
    for fact in ("train-00000-of-00001.tfrecord, record", "circle, square", "116", "objects/bbox"):
        assert fact in result.stdout
    assert max(Image.open(tmp_path / "one.png").size) > 800
    result = call("show", dataset, "train_04.jpg")
    assert result.exit_code == 2
    assert "did you mean 'train2017/train_04.jpg'" in result.stderr


def test_preview_writes_a_sheet_and_says_of_how_many(dataset, tmp_path):
    result = call("preview", dataset, "-n", 9, "-o", tmp_path / "sheet.jpg")
    assert result.exit_code == 0
    assert "9 of 16" in result.stdout
    assert Image.open(tmp_path / "sheet.jpg").format == "JPEG"
    sizes = call(
        "preview",
        dataset,
        "--split",
        "validation",
        "--label",
        "circle",
        "--where",
        "height > 100",
        "-o",
        tmp_path / "a.png",
    )
    assert sizes.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["--label", "circel"], ["circel", "did you mean 'circle'"]),
        (["--split", "tset"], ["tset", "train", "validation", "test"]),
        (["--where", "height > 9999"], ["height > 9999", "no example"]),
        (["--where", "hight > 9"], ["hight"]),
        (["-o", "sheet.gif"], ["sheet.gif", ".png"]),
        (["-n", "0"], ["1<=x<=400"]),
    ],
)
def test_a_wrong_preview_is_answered_with_the_remedy(arguments, facts, dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("preview", dataset, *arguments)
    assert result.exit_code == 2
    assert all(fact in result.stderr for fact in facts), result.stderr
    assert [*tmp_path.iterdir()] == []


def test_extract_writes_folders_and_refuses_to_mix(dataset, tmp_path):
    result = call("extract", dataset, tmp_path / "back", "--split", "test")
    assert result.exit_code == 0
    assert "2 images" in result.stdout
    assert len([*tmp_path.rglob("*.jpg")]) == 2
    result = call("extract", dataset, tmp_path / "back")
    assert result.exit_code == 2
    assert "name a new folder" in result.stderr
