"""Copies of other sizes and qualities share a split; they are found between splits, dropped; appends follow them."""

import html
import json
import re
import shlex

import pytest

from shardkit.report.facts import counting
from shardkit.testing import write_tree

from ..copies import COPIES, as_png, digit, encoded, icon, page, photo
from .calling import call
from .test_splits import split_of_keys

HALVES = ["--splits", "50/50"]
NUM_PHOTOS = 24


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Photographs in two classes; of each fourth one there are copies of every kind in the other class."""
    files = {f"{'ab'[number % 2]}/{number:02d}.jpg": encoded(photo(number)) for number in range(NUM_PHOTOS)}
    for number in range(0, NUM_PHOTOS, 4):
        files |= {f"b/{number:02d}-{kind}.jpg": copy(photo(number)) for kind, copy in COPIES.items()}
    return write_tree(tmp_path_factory.mktemp("near") / "photos", files)


def converted(*words):
    result = call("convert", *words)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def splits_of_each_photo(output):
    found = {}
    for key, split in split_of_keys(output).items():
        found.setdefault(key[2:4], set()).add(split)
    return found


@pytest.mark.parametrize("split_by", ["stratified", "hash"])
def test_copies_share_a_split_and_verify_finds_no_leak(split_by, photos, tmp_path):
    said = converted(photos, tmp_path / "out", *HALVES, "--split-by", split_by)
    splits = splits_of_each_photo(tmp_path / "out")
    assert len(splits) == NUM_PHOTOS
    assert all(len(found) == 1 for found in splits.values())
    assert set.union(*splits.values()) == {"train", "validation"}
    assert "6 images with near-identical images that have different labels" in said
    assert f"{6 * len(COPIES)} images are nearly identical to others (" in said
    [pairs] = re.findall(r"to others \((.*?) and 3 more\); all of a kind are in one split", said)
    assert len(pairs.split(", ")) == 3
    assert all(re.fullmatch(r"[ab]/(..)\S* and [ab]/\1\S*", pair) for pair in pairs.split(", "))
    assert call("verify", tmp_path / "out", "--leaks").exit_code == 0
    again = converted(tmp_path / "out", tmp_path / "anew", *HALVES, "--seed", "5")
    assert all(len(found) == 1 for found in splits_of_each_photo(tmp_path / "anew").values()), again


@pytest.mark.parametrize("dedupe", ["identical", "ignore"])
def test_copies_that_may_be_apart_are_found_between_the_splits(dedupe, photos, tmp_path):
    converted(photos, tmp_path / "out", *HALVES, "--dedupe", dedupe)
    apart = sorted(name for name, found in splits_of_each_photo(tmp_path / "out").items() if len(found) > 1)
    assert len(apart) > 2
    found = call("verify", tmp_path / "out", "--leaks", "--json")
    assert found.exit_code == 1
    leaks = [one["found"] for one in json.loads(found.stdout)["problems"]]
    assert sorted({leak.partition("/")[2][:2] for leak in leaks}) == apart
    assert call("report", tmp_path / "out", "-o", tmp_path / "page.html").exit_code == 0
    assert f"; {len(apart)} sets of near-identical images in several splits." in (tmp_path / "page.html").read_text()
    assert all("are nearly identical" in leak for leak in leaks)


def test_drop_keeps_the_first_of_the_copies(photos, tmp_path):
    converted(photos, tmp_path / "out", *HALVES, "--dedupe", "drop")
    kept = split_of_keys(tmp_path / "out")
    assert len([key for key in kept if "-" not in key]) == NUM_PHOTOS
    # A cropped picture has other cells, unless it is as smooth as most of these.
    assert {key for key in kept if "-" in key} == {"b/00-crop.jpg"}
    assert all(len(found) == 1 for found in splits_of_each_photo(tmp_path / "out").values())
    rejected = call("info", tmp_path / "out", "--rejected").stdout.splitlines()
    assert "b/00-half.jpg: duplicate: it is nearly identical to a/00.jpg" in rejected
    assert len(rejected) == 6 * len(COPIES) - 1


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """200 pages of different text on one form, and copies of every twentieth one."""
    files = {f"{'ab'[number % 2]}/{number:03d}.jpg": encoded(page(number)) for number in range(200)}
    for number in range(0, 200, 20):
        copies = {kind: copy(page(number)) for kind, copy in COPIES.items() if kind in {"half", "quality", "bright"}}
        files |= {f"b/{number:03d}-{kind}.jpg": copy for kind, copy in copies.items()}
    return write_tree(tmp_path_factory.mktemp("near") / "pages", files)


def test_drop_keeps_different_pages_on_one_form_and_leaves_out_their_copies(pages, tmp_path):
    converted(pages, tmp_path / "out", *HALVES, "--dedupe", "drop")
    kept = sorted(split_of_keys(tmp_path / "out"))
    assert [key for key in kept if "-" not in key] == kept
    assert len(kept) == 200


def test_drop_compares_the_images_of_a_dataset_too(pages, tmp_path):
    """Its index has no pictures for the comparison: the images are decoded again."""
    converted(pages, tmp_path / "all", *HALVES)
    converted(tmp_path / "all", tmp_path / "again", *HALVES, "--dedupe", "drop")
    kept = split_of_keys(tmp_path / "again")
    assert len(kept) == len([key for key in kept if "-" not in key]) == 200


def test_copies_in_the_own_splits_of_a_source_are_a_finding(tmp_path):
    files = {f"{split}/a/{n}.jpg": encoded(photo(n)) for split, n in (("train", 1), ("train", 2), ("test", 3))}
    files["test/a/copy.jpg"] = COPIES["half"](photo(2))
    source = write_tree(tmp_path / "source", files)
    found = json.loads(call("plan", source, "--layout", "class-folders", "--json").stdout)["findings"]
    (leak,) = [one for one in found if one["code"] == "near_duplicate_in_several_splits"]
    assert leak["examples"] == ["test/a/copy.jpg and train/a/2.jpg"]


def test_an_appended_copy_follows_the_old_image(photos, tmp_path):
    converted(photos, tmp_path / "out", *HALVES)
    before = splits_of_each_photo(tmp_path / "out")
    files = {f"{'ab'[n % 2]}/{n:02d}-new.jpg": COPIES["quality"](photo(n)) for n in range(1, NUM_PHOTOS, 2)}
    files |= {f"a/{n:02d}-new.jpg": COPIES["half"](photo(n)) for n in range(2, NUM_PHOTOS, 4)}
    assert call("append", tmp_path / "out", write_tree(tmp_path / "new", files)).exit_code == 0
    assert call("verify", tmp_path / "out", "--leaks").exit_code == 0
    new = split_of_keys(tmp_path / "out" / "append-0001")
    assert new == {key: next(iter(before[key[2:4]])) for key in files}


def test_an_append_leaves_out_copies_of_old_pages_and_adds_different_ones(pages, tmp_path):
    files = {path.relative_to(pages).as_posix(): path.read_bytes() for path in sorted(pages.glob("?/*"))}
    new = {key: data for key, data in files.items() if "-" in key or "/1" in key}
    source = write_tree(tmp_path / "source", {key: data for key, data in files.items() if key not in new})
    converted(source, tmp_path / "out", *HALVES, "--dedupe", "drop")
    assert call("append", tmp_path / "out", write_tree(tmp_path / "new", new)).exit_code == 0
    assert {*split_of_keys(tmp_path / "out" / "append-0001")} == {key for key in new if "-" not in key}


@pytest.mark.parametrize("made", [digit, icon])
def test_images_that_look_alike_by_nature_are_said_to_and_are_not_kept_together(made, tmp_path):
    files = {f"{'ab'[number % 2]}/{number:03d}.jpg": encoded(made(number)) for number in range(120)}
    said = converted(write_tree(tmp_path / "source", files), tmp_path / "out", "--splits", "80/20")
    assert "look too much like many others to tell copies apart (scans, icons, frames of a camera)" in said
    assert "no near-identical images are kept in one split; if some belong together, give --group-by" in said
    assert len([split for split in split_of_keys(tmp_path / "out").values() if split == "validation"]) == 24
    verified = call("verify", tmp_path / "out", "--leaks")
    assert verified.exit_code == 0
    assert "so no near-identical images were looked for in other splits" in " ".join(verified.stderr.split())


def test_the_report_shows_near_identical_images_with_different_labels(photos, tmp_path):
    converted(photos, tmp_path / "out", *HALVES)
    fixes = tmp_path / "fixes.csv"
    assert call("report", tmp_path / "out", "--output", tmp_path / "page.html", "--fixes", fixes).exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert "6 sets of near-identical images have different labels: one may be wrong." in page
    assert "Near-identical, different labels (6)" in page
    (listing, _) = html.unescape(re.findall(r'id="conflicts".*?<code>(.*?)</code>', page, re.DOTALL)[0]).split("\n")
    assert shlex.split(listing) == ["shardkit", "report", str(tmp_path / "out"), "--fixes", "fixes.csv"]
    keys = {line.partition(",")[0] for line in fixes.read_text().splitlines()}
    assert {f"a/{number:02d}.jpg" for number in range(0, NUM_PHOTOS, 4)} <= keys


def test_images_without_a_hash_are_counted_where_near_copies_are_looked_for(tmp_path):
    files = {f"{'ab'[number % 2]}/{number}.png": as_png(photo(number)) for number in range(4)}
    files |= {f"a/small {number}.png": as_png(photo(number, (40, 60))) for number in range(2)}
    converted(write_tree(tmp_path / "source", files), tmp_path / "out", *HALVES)
    text = "2 of 6 images have no perceptual hash (not decoded, flat, or a side below 64 pixels)"
    assert text in " ".join(call("verify", tmp_path / "out", "--leaks").stderr.split())
    assert call("report", tmp_path / "out", "-o", tmp_path / "page.html").exit_code == 0
    assert text in (tmp_path / "page.html").read_text()


def test_the_table_of_wrong_labels_says_that_too_many_images_were_not_compared(photos, tmp_path, monkeypatch):
    converted(photos, tmp_path / "out", *HALVES)
    monkeypatch.setattr(counting, "MOST_COMPARED", 3)
    said = call("report", tmp_path / "out", "-o", tmp_path / "page.html", "--fixes", tmp_path / "fixes.csv").stderr
    assert f"`shardkit view {tmp_path / 'out'}` lists them" in " ".join(said.split())
    assert "lists them" in (tmp_path / "page.html").read_text()
