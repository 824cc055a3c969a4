"""Recordings, patients and scenes that file names show: the finding, its command, and `verify --leaks`."""

import itertools
import json
import re
import shlex
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardkit
from shardkit.conversion.planning.splits.name_groups import find_name_groups
from shardkit.testing import picture, write_tree

from .calling import call, convert

SPLITS = ["--splits", "80/10/10", "--layout", "class-folders"]
BITS = np.random.default_rng(3)


def classes(number):
    """A class that goes on for some images."""
    return ("cat", "dog")[number // 3 % 2]


def hexadecimal(num_bytes):
    return BITS.bytes(num_bytes).hex()


def recordings(form, groups, count=10, step=1):
    """Keys below the folder of a class, and the group of each."""
    keys = {}
    for group in groups:
        for number in range(0, count * step, step):
            keys[f"{classes(number)}/{form.format(group, number)}"] = str(group)
    return keys


GROUPED = {
    "recordings": recordings("rec{:02}_{:06}.jpg", range(12)),
    "every tenth frame": recordings("rec{:02}_{:06}.jpg", range(12), step=10),
    "tiles": {
        f"{classes(x + y)}/R{scene:02}_x{128 * x:04}_y{128 * y:04}.png": str(scene)
        for scene in range(12)
        for x in range(3)
        for y in range(4)
    },
    "patients": recordings("{:08}_{:03}.png", range(0, 1200, 100), 8),
    "patients with letters": recordings("TCGA-A{}-{:03}.png", range(1, 13)),
    "days": recordings("{}_{:04}.jpg", [f"2024-05-{day:02}" for day in range(1, 13)]),
    "days and places": recordings("site3-{}-{:04}.jpg", [f"202405{day:02}" for day in range(1, 13)]),
    "sessions that begin at a time": recordings("{}_{:04}.jpg", [f"20240506_12{at:02}30" for at in range(12)]),
    "persons": recordings("{}_{:04}.jpg", ["ann", "bob", "cem", "dan", "eve", "fay", "gus", "hal", "ian", "joe"]),
    "copies of Roboflow": {
        f"{classes(number)}/IMG_{number:04}_jpg.rf.{hexadecimal(16)}.jpg": str(number)
        for number in range(40)
        for _ in range(3)
    },
    "folders of persons": recordings("person{:02}/{:04}.jpg", range(12)),
    "recordings of one class each": {
        f"{name}/v{at:02}_{number:03}.jpg": str(at)
        for at, name in enumerate(["jump", "walk"] * 20)
        for number in range(4)
    },
}


def tree(root, keys):
    return write_tree(root, {key: picture(number, width=4, height=4) for number, key in enumerate(keys)})


def printed(stderr):
    """The command of the finding, and what its comment says."""
    [line] = [line for line in stderr.splitlines() if "--group-by" in line and line.startswith("      shardkit")]
    return shlex.split(line, comments=True)[1:], line.partition("  # ")[2]


def splits_of(output):
    """The split of each key."""
    tables = [(path.name.split("-")[0], pq.read_table(path)) for path in output.glob("**/*.index.parquet")]
    return {key: split for split, table in tables for key in table["key"].to_pylist()}


def manifest_of(output):
    return json.loads((output / "manifest.json").read_text())


@pytest.mark.parametrize("name", GROUPED)
def test_the_printed_command_keeps_what_names_show_together(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys = GROUPED[name]
    tree(tmp_path / "raw data", keys)
    said = convert("raw data", "out", *SPLITS)
    num_groups = len({*keys.values()})
    assert f"file names show {num_groups} groups of images" in said
    assert call("verify", "out", "--leaks").exit_code == 1
    command, comment = printed(said)
    assert comment == f"each of the {num_groups} groups is in one split"
    result = call(*command)
    assert (result.exit_code, "file names show" in result.stderr) == (0, False), result.output
    found = {}
    for key, split in splits_of(tmp_path / "out").items():
        found.setdefault(keys[key], set()).add(split)
    assert len(found) == manifest_of(tmp_path / "out")["source"]["groups"] == num_groups
    assert {len(splits) for splits in found.values()} == {1}
    assert {next(iter(splits)) for splits in found.values()} == {"train", "validation", "test"}
    checked = call("verify", "out", "--leaks")
    assert (checked.exit_code, "no problems" in checked.stdout) == (0, True), checked.output


USUAL = {
    "class and counter": [f"{name}/{name}_{number:04}.jpg" for name in ("cat", "dog") for number in range(200)],
    "ImageNet": [f"n0{c}/n0{c}_{(n * 37) % 9000}.JPEG" for c in range(10) for n in range(40)],
    "a camera": [f"{classes(n)}/IMG_{n:04}.JPG" for n in range(400)],
    "several cameras": [f"{classes(n)}/{('IMG_', 'DSC_', 'DSCN', 'P')[n % 4]}{n:04}.JPG" for n in range(400)],
    "a telephone": [
        f"{classes(n)}/202401{n % 28 + 1:02}_{10 + n % 12}{n % 60:02}{n * 7 % 60:02}.jpg" for n in range(400)
    ],
    "a telephone with milliseconds": [
        f"{classes(n)}/PXL_202401{n % 28 + 1:02}_{10 + n % 12}{n % 60:02}{n * 7 % 60:02}{n:03}.jpg" for n in range(400)
    ],
    "COCO": [f"{classes(n)}/COCO_train2014_{n * 1013:012}.jpg" for n in range(400)],
    "years of VOC": [f"{classes(n)}/{2007 + n % 6}_{n:06}.jpg" for n in range(400)],
    "attributes of UTKFace": [
        f"{classes(n)}/{n % 90}_{n % 2}_{n % 4}_2017{10**12 + n * 10**8 + 7}.jpg" for n in range(400)
    ],
    "CUB": [
        f"{c}.Albatross_{w}/Albatross_{w}_{n:04}_{n * 997 + c}.jpg" for c, w in enumerate("abc") for n in range(60)
    ],
    "identifiers of Flickr": [f"{classes(n)}/{10**9 + n * 12345}_{hexadecimal(5)}.jpg" for n in range(400)],
    "hashes": [f"{classes(n)}/{hexadecimal(8)}.jpg" for n in range(400)],
    "websites": [f"{classes(n)}/{('google', 'bing', 'flickr')[n % 3]}_{n:04}.jpg" for n in range(400)],
    "Windows": [f"{name}/{name} ({number}).jpg" for name in ("cat", "dog") for number in range(200)],
    "folders of hundreds": [f"{n // 100 * 100:05}/{n:05}.png" for n in range(400)],
    "digits": [f"{n % 10}/{n % 10}_{n:05}.png" for n in range(400)],
    "kinds within a class": [
        f"{c}/{c}{w}_s_{n * 31:06}.png" for c in ("bird", "cat") for w in "xyz" for n in range(60)
    ],
}


@pytest.mark.parametrize("name", USUAL)
def test_usual_names_show_no_groups(name):
    keys = sorted(USUAL[name])
    of_class = {key: at for at, key in enumerate(dict.fromkeys(key.split("/")[0] for key in keys))}
    labels = np.array([of_class[key.split("/")[0]] for key in keys], np.int32)
    assert find_name_groups(pa.chunked_array([keys]), labels) is None


def test_nothing_is_said_about_usual_names_or_without_splits(tmp_path):
    usual = tree(tmp_path / "usual", USUAL["class and counter"])
    convert(usual, tmp_path / "out", *SPLITS)
    assert "no problems" in call("verify", tmp_path / "out", "--leaks").stdout
    raw = tree(tmp_path / "raw", GROUPED["recordings"])
    for options in ([], [*SPLITS, "--group-by", "(rec..)"]):
        assert "file names show" not in call("plan", raw, *options).stderr
    findings = shardkit.plan(str(raw), splits="80/20").findings
    assert [one.code for one in findings] == ["name_groups_in_several_splits"]
    assert not findings[0].stops


def numbers_by_split(output):
    found = {}
    for key, split in splits_of(output).items():
        found.setdefault(split, []).append(int(re.findall(r"[0-9]+", key)[-1]))
    return {split: np.array(sorted(numbers)) for split, numbers in found.items()}


def test_too_few_recordings_are_divided_in_blocks_without_neighbours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tree(tmp_path / "raw", recordings("frame_{1:05}.jpg", [0], 600))
    said = convert("raw", "out", *SPLITS)
    assert "the images are of one recording, 'frame'" in said
    leaks = call("verify", "out", "--leaks")
    assert leaks.exit_code == 1
    assert re.search(r"[56]\d of 60 examples of test are within 2 numbers of one of train", leaks.stdout)
    command, comment = printed(said)
    block = int(command[command.index("--block") + 1])
    result = call(*command, "--max-rejected", "0")
    assert result.exit_code == 0, result.output
    num_left_out = int(re.search(r"(\d+) images? between", comment)[1])
    assert comment.startswith(f"blocks of {block} numbers are in one split")
    assert manifest_of(tmp_path / "out")["rejected"]["by_reason"] == {"between_blocks": num_left_out}
    numbers = numbers_by_split(tmp_path / "out")
    assert sum(map(len, numbers.values())) == 600 - num_left_out
    pairs = [("train", "validation"), ("train", "test"), ("validation", "test")]
    for one, other in pairs:
        assert np.abs(numbers[one][:, None] - numbers[other]).min() > 2 * max(1, block // 20)
    assert all(len({*(numbers[one] // block)} & {*(numbers[other] // block)}) == 0 for one, other in pairs)
    assert "no problems" in call("verify", "out", "--leaks").stdout


def test_the_gap_is_a_twentieth_of_a_block_on_both_sides(tmp_path):
    raw = tree(tmp_path / "raw", recordings("rec_{1:05}.jpg", [0], 400))
    options = ["--splits", "50/50", "--split-by", "hash", "--group-by", "(rec)_", "--block", "100"]
    convert(raw, tmp_path / "out", *options, "--seed", "1")
    numbers = numbers_by_split(tmp_path / "out")
    split_of = [next(split for split in numbers if block * 100 + 50 in numbers[split]) for block in range(4)]
    assert len({*split_of}) == 2
    wanted = {
        number
        for at, (before, after) in enumerate(itertools.pairwise(split_of), 1)
        for number in range(100 * at - 5, 100 * at + 5)
        if before != after
    }
    assert {*range(400)} - {number for of_split in numbers.values() for number in of_split.tolist()} == wanted


def test_appended_images_follow_their_block_and_leave_the_border_free(tmp_path):
    keys = [*recordings("rec_{1:05}.jpg", [0], 400)]
    options = [
        "--splits",
        "50/50",
        "--split-by",
        "hash",
        "--group-by",
        "(rec)_",
        "--block",
        "100",
        "--seed",
        "3",
    ]  # every other split
    convert(tree(tmp_path / "all", keys), tmp_path / "whole", *options)
    whole = splits_of(tmp_path / "whole")
    first = [key for key in keys if int(key[-9:-4]) % 100 < 40 or 100 <= int(key[-9:-4]) < 200]
    pictures = {key: picture(number, width=4, height=4) for number, key in enumerate(keys)}
    write_tree(tmp_path / "first", {key: pictures[key] for key in first})
    write_tree(tmp_path / "rest", {key: pictures[key] for key in keys if key not in first})
    convert(tmp_path / "first", tmp_path / "out", *options)
    result = call("append", tmp_path / "out", tmp_path / "rest")
    assert result.exit_code == 0, result.output
    assert splits_of(tmp_path / "out") == whole
    assert call("verify", tmp_path / "out", "--leaks").exit_code == 0
    # Converted again, the examples keep their splits and the dataset its rule.
    convert(tmp_path / "out", tmp_path / "new", "--shards", "1")
    assert manifest_of(tmp_path / "new")["options"]["block"] == 100
    assert splits_of(tmp_path / "new") == whole


def test_blocks_divide_the_groups_of_a_column(tmp_path):
    keys = recordings("{:02}x{:05}.jpg", range(2), 200)
    tree(tmp_path, keys)
    rows = "".join(f"{key},{key.split('/')[0]},{group}\n" for key, group in keys.items())
    (tmp_path / "labels.csv").write_text(f"image,label,drive\n{rows}")
    convert(tmp_path / "labels.csv", tmp_path / "out", *SPLITS[:2], "--group-by", "drive", "--block", "10")
    groups = Counter()
    for path in (tmp_path / "out").glob("*.index.parquet"):
        groups.update({*pq.read_table(path)["group"].to_pylist()})
    assert {*groups} == {f"{group}/{block}" for group in range(2) for block in range(20)}
    assert {*groups.values()} == {1}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--block", "100"], "--block 100 divides groups, and there are none; add --group-by"),
        (["--group-by", "(rec..)", "--block", "5"], "10"),
    ],
)
def test_blocks_need_groups_and_a_size(options, said, tmp_path):
    raw = tree(tmp_path / "raw", [*GROUPED["recordings"]][:40])
    result = call("plan", raw, *SPLITS, *options)
    assert (result.exit_code, said in result.stderr) == (2, True), result.output


def test_own_splits_that_divide_recordings_are_problems_unless_each_counts_anew(tmp_path):
    own = {
        f"{('train', 'test')[number % 4 == 3]}/{classes(number)}/rec{at}_{number:03}.png": None
        for at in range(8)
        for number in range(24)
    }
    convert(tree(tmp_path / "own", own), tmp_path / "out")
    found = call("verify", tmp_path / "out", "--leaks", "--json")
    assert found.exit_code == 1
    said = [one["found"] for one in json.loads(found.stdout)["problems"]]
    assert said[0].startswith("leak: 8 of 8 groups that file names show, such as 'rec0', are in several splits")
    assert said[1].startswith("leak: 48 of 48 examples of test are within 2 numbers of one of train")
    for text in said:
        words = shlex.split(re.search("`(.*)`", text)[1].replace(" NEW ", f" {tmp_path}/again "))
        assert call(*words[1:], "--quiet", "--overwrite").exit_code == 0
        assert call("verify", tmp_path / "again", "--leaks").exit_code == 0
    anew = [f"{split}/{key}" for split in ("train", "test") for key in GROUPED["recordings"]]
    convert(tree(tmp_path / "anew", anew), tmp_path / "new")
    assert call("verify", tmp_path / "new", "--leaks").exit_code == 0
