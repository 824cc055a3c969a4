import collections
import json
import os
import struct
import zlib

import numpy as np
import pyarrow.parquet as pq
import pytest

from shardkit.testing import picture, write_tree

from ..cli.calling import call, convert, run


def _huge_png():
    """A good header that claims 40 thousand million pixels."""
    head = b"IHDR" + struct.pack(">IIBBBBB", 200_000, 200_000, 8, 2, 0, 0, 0)
    return picture(3)[:12] + head + struct.pack(">I", zlib.crc32(head)) + picture(3)[33:]


BAD = {
    "empty": b"",
    "not_an_image": b"<!DOCTYPE html><html>404</html>" * 9,
    "truncated": picture(1, width=40, height=40, kind="JPEG")[:700],
    "damaged": picture(2)[:60] + b"!" + picture(2)[61:],
    "too_many_pixels": _huge_png(),
}
# Of the 38 bad files, those with a wrong byte amid their pixels, which headers do not tell of.
NUM_DAMAGED = 7
NUM_GOOD = {"ant": 190, "bee": 101, "cat": 43, "dog": 7}


@pytest.fixture(scope="module")
def tenth_bad(tmp_path_factory):
    """341 good pictures of very different sizes and 38 bad files between them, a tenth of the whole."""
    rng = np.random.default_rng(5)
    files, seed = {}, 0
    for label, count in NUM_GOOD.items():
        for i in range(count):
            seed += 1
            files[f"{label}/{i:03d}.jpg"] = picture(seed, width=int(rng.integers(4, 60)), height=20, kind="JPEG")
    for i in range(38):
        reason = list(BAD)[i % len(BAD)]
        files[f"{list(NUM_GOOD)[i % 3]}/{i * 5:03d}-bad-{reason}.jpg"] = BAD[reason]
    return write_tree(tmp_path_factory.mktemp("tenth") / "source", files)


@pytest.fixture(scope="module")
def converted(tenth_bad, tmp_path_factory):
    output = tmp_path_factory.mktemp("converted") / "out"
    options = ["--max-rejected", "38", "--splits", "train=0.8,validation=0.2", "--shards", "train=7,validation=3"]
    convert(tenth_bad, output, *options, "--split-by", "stratified")
    return output


def counts_by_shard(output, split):
    """Labels of every shard of a split, counted; read from the indexes."""
    return [
        collections.Counter(pq.read_table(path)["label_name"].to_pylist())
        for path in sorted(output.glob(f"{split}-*.index.parquet"))
    ]


@pytest.mark.parametrize(("split", "num_shards"), [("train", 7), ("validation", 3)])
def test_shards_and_classes_are_within_one_though_a_tenth_of_the_source_is_bad(split, num_shards, converted):
    shards = counts_by_shard(converted, split)
    assert len(shards) == num_shards
    assert np.ptp([shard.total() for shard in shards]) <= 1
    for label in NUM_GOOD:
        assert np.ptp([shard[label] for shard in shards]) <= 1, label


def test_every_good_image_is_written_exactly_once_and_no_bad_one(converted, tenth_bad):
    keys = [key for path in converted.glob("*.index.parquet") for key in pq.read_table(path)["key"].to_pylist()]
    good = {str(path.relative_to(tenth_bad)) for path in tenth_bad.rglob("*.jpg") if "bad" not in path.name}
    assert len(keys) == sum(NUM_GOOD.values())
    assert set(keys) == good


def test_stratified_splits_take_their_share_of_every_class_within_one(converted):
    shards = {split: sum(counts_by_shard(converted, split), collections.Counter()) for split in ("train", "validation")}
    for label, count in NUM_GOOD.items():
        assert abs(shards["train"][label] - 0.8 * count) < 1
        assert shards["train"][label] + shards["validation"][label] == count


def test_the_manifest_says_the_balance_that_is_there(converted):
    manifest = json.loads((converted / "manifest.json").read_text())
    for name, split in manifest["splits"].items():
        shards = counts_by_shard(converted, name)
        assert [shard["num_examples"] for shard in split["shards"]] == [shard.total() for shard in shards]
        assert split["class_counts"] == [sum(shard[label] for shard in shards) for label in manifest["classes"]]
        assert split["balance"]["count_spread"] == np.ptp([shard.total() for shard in shards])
        assert split["balance"]["class_spread"] == max(
            np.ptp([shard[label] for shard in shards]) for label in manifest["classes"]
        )
        sizes = [(converted / shard["path"]).stat().st_size for shard in split["shards"]]
        assert split["balance"]["bytes_spread"] == pytest.approx(max(sizes) / min(sizes) - 1, abs=1e-6)
        assert split["num_bytes"] == sum(sizes)


def test_rejected_parquet_says_of_every_bad_file_what_and_why(converted, tenth_bad):
    rows = pq.read_table(converted / "rejected.parquet").to_pylist()
    bad = sorted(str(path.relative_to(tenth_bad)) for path in tenth_bad.rglob("*bad*"))
    assert [row["key"] for row in rows] == bad
    for row in rows:
        assert row["reason"] == row["key"].rpartition("-bad-")[2].removesuffix(".jpg")
        assert row["source_bytes"] == (tenth_bad / row["key"]).stat().st_size
        assert len(row["message"]) > 20
    manifest = json.loads((converted / "manifest.json").read_text())
    by_reason = {reason: 8 - (reason in list(BAD)[3:]) for reason in sorted(BAD)}
    assert manifest["rejected"] == {"num_examples": 38, "by_reason": by_reason}
    assert manifest["source"]["num_files"] == 341 + 38


@pytest.mark.parametrize(
    ("check", "limit", "passes"),
    [
        ("decode", "38", True),
        ("decode", "37", False),
        ("decode", "0", False),
        ("decode", "10.1%", True),  # 38 of 379 are 10.03 %
        ("decode", "10%", False),
        ("decode", "0%", False),
        ("header", "31", True),
        ("header", "30", False),
        ("header", "8.18%", True),  # 31 of 379 are 8.179 %
        ("header", "8.17%", False),
    ],
)
def test_the_limit_of_bad_images_holds_to_the_last_one_by_count_and_by_share(check, limit, passes, tenth_bad, tmp_path):
    output = tmp_path / "out"
    said = convert(tenth_bad, output, "--check", check, "--max-rejected", limit, exit_code=0 if passes else 1)
    assert (output / "manifest.json").exists() == passes
    if not passes:
        num_bad = 38 - (NUM_DAMAGED if check == "header" else 0)
        assert f"{num_bad} of 379 images and records are bad, more than --max-rejected {limit} allows" in said
        assert "nothing was published" in said
        assert "  ant/000-bad-empty.jpg: empty: The file has no bytes" in said
        listed = output / ".shardkit" / "rejected.parquet"
        assert f"… and {num_bad - 10} more, all in {listed}" in said
        assert len(pq.read_table(listed)) == num_bad
        assert call("verify", output).exit_code == 1


def test_more_bad_images_can_be_allowed_afterwards_and_nothing_is_done_twice(tenth_bad, tmp_path):
    convert(tenth_bad, tmp_path / "out", "--check", "header", "--shards", "3", "--max-rejected", "9", exit_code=1)
    assert "resuming: 3 of 3 shards" in convert(
        tenth_bad, tmp_path / "out", "--check", "header", "--shards", "3", "--max-rejected", "38"
    )


def test_bad_images_found_only_when_written_shrink_their_shards_and_the_report_says_so(tenth_bad, tmp_path):
    result = call("convert", tenth_bad, tmp_path / "out", "--check", "header", "--shards", "5", "--max-rejected", "38")
    assert result.exit_code == 0, result.output
    shards = counts_by_shard(tmp_path / "out", "train")
    planned = [76, 76, 76, 76, 75]
    assert all(shard.total() <= count for shard, count in zip(shards, planned, strict=True))
    assert sum(shard.total() for shard in shards) == 341 + NUM_DAMAGED
    split = json.loads((tmp_path / "out" / "manifest.json").read_text())["splits"]["train"]
    spread = int(np.ptp([shard.total() for shard in shards]))
    assert split["balance"]["count_spread"] == spread > 1
    low, high = min(shard.total() for shard in shards), max(shard.total() for shard in shards)
    assert f"{low} to {high}" in " ".join(result.stdout.split())
    rows = pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    assert {row["reason"] for row in rows} == set(BAD) - {"damaged"}
    assert call("verify", tmp_path / "out").exit_code == 0
    deep = call("verify", tmp_path / "out", "--deep")
    assert deep.exit_code == 1
    assert deep.stdout.count("bad-damaged.jpg") == NUM_DAMAGED


def test_a_shard_of_bad_images_only_is_empty_and_sound(tmp_path):
    source = write_tree(
        tmp_path / "source", {f"{'ab'[i % 2]}/{i}.png": picture(i) if i == 3 else b"" for i in range(4)}
    )
    convert(source, tmp_path / "out", "--check", "header", "--shards", "4", "--max-rejected", "3")
    shards = sorted((tmp_path / "out").glob("*.tfrecord"))
    assert sorted(path.stat().st_size > 0 for path in shards) == [False, False, False, True]
    assert call("verify", tmp_path / "out", "--deep").exit_code == 0
    assert call("info", tmp_path / "out").exit_code == 0


def test_bytes_are_within_one_percent_from_a_thousand_examples_a_shard(tmp_path):
    rng = np.random.default_rng(0)
    one = picture(0, width=32, height=32, kind="JPEG")
    # Bytes behind a JPEG's end are kept: sizes as of photographs, at no cost.
    sizes = rng.lognormal(7, 0.9, 4000).astype(int)
    files = {f"{'abc'[i % 3]}/{i:04d}.jpg": one + rng.bytes(int(size)) for i, size in enumerate(sizes)}
    source = write_tree(tmp_path / "source", files)
    convert(source, tmp_path / "out", "--shards", "4", "--check", "header")
    balance = json.loads((tmp_path / "out" / "manifest.json").read_text())["splits"]["train"]["balance"]
    assert (balance["count_spread"], balance["class_spread"]) <= (1, 1)
    assert balance["bytes_spread"] < 0.01


def test_an_unreadable_file_is_rejected_for_what_the_system_says(tmp_path):
    source = write_tree(tmp_path / "source", {f"{'ant' if i else 'bee'}/{i}.png": picture(i) for i in range(30)})
    (source / "ant" / "link.png").symlink_to("nowhere.png")
    (source / "ant" / "folder.png").mkdir()
    for check in ("decode", "header"):
        convert(source, tmp_path / check, "--check", check)
        [row] = pq.read_table(tmp_path / check / "rejected.parquet").to_pylist()
        assert (row["key"], row["reason"]) == ("ant/link.png", "unreadable")
        assert "No such file" in row["message"]


@pytest.mark.parametrize("check", ["decode", pytest.param("header", marks=pytest.mark.slow)])
def test_a_pipe_among_the_images_is_rejected_and_does_not_hang(check, tmp_path):
    source = write_tree(tmp_path / "source", {f"{'ant' if i else 'bee'}/{i}.png": picture(i) for i in range(30)})
    os.mkfifo(source / "ant" / "pipe.png")
    done = run("convert", source, tmp_path / "out", "--check", check, timeout=60)
    assert done.returncode == 0, done.stderr
    [row] = pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()
    assert row["key"] == "ant/pipe.png"
