"""Tables whose names are not those of the files as they are, at the command line: read, or stopped with what to do."""

import json
import re

import pytest

from shardkit.testing import picture, write_archive, write_tree

from .calling import answered, call

NAMES = [f"{number:04}.png" for number in range(1, 13)]
FLOWERS = ("rose", "tulip", "lily")


def pictures(names):
    return {name: picture(number, width=4, height=4) for number, name in enumerate(names)}


def records(label):
    return "".join(f'{{"file_name": "{name}", "label": "{label(i)}"}}\n' for i, name in enumerate(NAMES)).encode()


@pytest.fixture
def metadata():
    return {"metadata.jsonl": records(lambda i: FLOWERS[i % 3])}


def classes_of(out):
    return json.loads((out / "manifest.json").read_text())["classes"]


def num_examples(out):
    return sum(split["num_examples"] for split in json.loads((out / "manifest.json").read_text())["splits"].values())


@pytest.mark.parametrize("where", ["images/", "images.zip", "images.zip of a folder"])
def test_metadata_name_images_in_a_folder_or_an_archive_beside_it(where, metadata, tmp_path):
    source = write_tree(
        tmp_path / "s", metadata | (pictures(f"images/{one}" for one in NAMES) if "zip" not in where else {})
    )
    if "zip" in where:
        write_archive(source / "images.zip", pictures(("images/" * ("of" in where)) + one for one in NAMES))
    made = call("convert", source, tmp_path / "out")
    assert made.exit_code == 0, made.output
    assert (sorted(FLOWERS), len(NAMES)) == (classes_of(tmp_path / "out"), num_examples(tmp_path / "out"))


def test_metadata_whose_names_are_in_two_folders_stop(metadata, tmp_path):
    source = write_tree(tmp_path / "s", metadata | pictures(f"{part}/{one}" for part in "ab" for one in NAMES))
    made = call("convert", source, tmp_path / "out")
    assert made.exit_code != 0
    assert "such as '0001.png', exist in 2 folders" in made.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize("twins", [[], ["1.png", "2.png"]])
@pytest.mark.parametrize("words", [[], ["--label", "ids.csv:kind"], ["--label", "ids.csv:kind", "--match", "stem"]])
def test_ids_without_their_zeros_stop_with_what_to_write(words, twins, tmp_path):
    table = "id,kind\n" + "".join(f"{i + 1},{FLOWERS[i % 3]}\n" for i in range(len(NAMES)))
    files = {"ids.csv": table.encode()} | pictures(f"pics/{one}" for one in [*NAMES, *twins])
    source = write_tree(tmp_path / "s", files)
    for url in [source] if words else [source, source / "ids.csv"]:
        made = call("convert", url, tmp_path / "out", *words)
        assert made.exit_code == 2, made.output
        assert f"12 of {len(NAMES)} values of column 'id' are names of images without their zeros" in made.stderr
        assert "write them as the images are called" in made.stderr
        assert ("and 2 are names as they are" in made.stderr) == bool(twins)
    fixed = "id,kind\n" + "".join(f"{i + 1:04},{FLOWERS[i % 3]}\n" for i in range(len(NAMES)))
    (source / "ids.csv").write_text(fixed)
    assert call("convert", source, tmp_path / "out", "--label", "ids.csv:kind", "--images", "0*.png").exit_code == 0


# name: file of class names next to a table of numbers, the first number, and classes or the note that it is not used
NAMED = {
    "JSON from 1": ("cat_to_name.json", '{"1": "rose", "2": "tulip", "3": "lily"}', 1, list(FLOWERS)),
    "JSON from 0, names first": ("label_map.json", '{"rose": 0, "tulip": 1, "lily": 2}', 0, list(FLOWERS)),
    "lines from 0": ("classes.txt", "rose\ntulip\nlily\n", 0, list(FLOWERS)),
    "lines from 1": ("classes.txt", "rose\ntulip\nlily\n", 1, list(FLOWERS)),
    "lines of something else": ("classes.txt", "rose\ntulip\nlily\nfern\n", 1, "classes.txt: it names 4 classes"),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_file_of_class_names_next_to_numbers_is_used_or_named_as_unused(name, tmp_path):
    file, text, first, expected = NAMED[name]
    table = "image,label\n" + "".join(f"{one},{i % 3 + first}\n" for i, one in enumerate(NAMES))
    source = write_tree(tmp_path / "s", pictures(NAMES) | {"labels.csv": table.encode(), file: text.encode()})
    if isinstance(expected, list):
        made = call("convert", source, tmp_path / "out")
        assert made.exit_code == 0, made.output
        assert classes_of(tmp_path / "out") == expected
    else:
        asked, made = answered("convert", source, tmp_path / "out")
        assert f"because not used: {source}/{expected}" in asked
        assert made.exit_code == 0, made.output
        assert classes_of(tmp_path / "out") == ["1", "2", "3"]


@pytest.mark.parametrize("name", NAMED)
def test_a_file_of_class_names_next_to_folders_of_numbers_is_named_as_unused(name, tmp_path):
    file, text, first, expected = NAMED[name]
    paths = [f"{part}/{i % 3 + first}/{one}" for part in ("train", "val") for i, one in enumerate(NAMES)]
    source = write_tree(tmp_path / "s", pictures(paths) | {file: text.encode()})
    asked, made = answered("convert", source, tmp_path / "out")
    assert made.exit_code == 0, made.output
    assert classes_of(tmp_path / "out") == [str(i + first) for i in range(3)]
    if isinstance(expected, str):
        assert f"because not used: {source}/{expected}" in asked
        return
    assert f"because {file} names the numbers of the folders, and is not used" in asked
    label = re.search("`(label: .*?)`", asked)[1]
    (tmp_path / "r.yaml").write_text(f"reading: {{{label}, split: {{path: 0}}}}")
    assert call("convert", source, tmp_path / "named", "--config", tmp_path / "r.yaml").exit_code == 0
    assert classes_of(tmp_path / "named") == list(FLOWERS)
