"""From a number of shards on, the manifest names tables of them; all readers of the dataset see the same shards."""

import json

import pytest

import shardkit
from shardkit.dataset.manifest import read_manifest, shard_tables
from shardkit.errors import ManifestError
from shardkit.testing import digests_of, picture, write_class_folders, write_tree

from ..cli.calling import call

OPTIONS = {"splits": {"train": 0.8, "test": 0.2}, "shards": 2}


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    return write_class_folders(tmp_path_factory.mktemp("photographs"), {"ant": 6, "bee": 6})


@pytest.fixture(scope="module")
def listed(photographs, tmp_path_factory):
    """A dataset whose manifest lists its shards."""
    output = tmp_path_factory.mktemp("listed") / "out"
    shardkit.convert(photographs, output, **OPTIONS)
    return output


@pytest.fixture
def few(monkeypatch):
    """Tables are used from four shards on."""
    monkeypatch.setattr(shard_tables, "LISTED_SHARDS", 3)


@pytest.fixture
def tabled(photographs, few, tmp_path):
    """The same dataset with tables."""
    shardkit.convert(photographs, tmp_path / "out", **OPTIONS)
    return tmp_path / "out"


def text(dataset):
    return json.loads((dataset / "manifest.json").read_text())


def tables(dataset):
    return sorted(f"manifests/{path.name}" for path in (dataset / "manifests").glob("*.parquet"))


def test_all_shards_are_in_tables_and_all_files_but_the_manifest_are_the_same(listed, tabled):
    written = text(tabled)
    named = [split["shard_table"]["path"] for split in written["splits"].values()]
    assert (written["format_version"], text(listed)["format_version"]) == (2, 1)
    assert not any("shards" in split for split in written["splits"].values())
    assert sorted(named) == tables(tabled)
    assert [*read_manifest(tabled).shards()] == [*read_manifest(listed).shards()]
    added = {"manifest.json", *named}
    assert {name: one for name, one in digests_of(tabled).items() if name not in added} == {
        name: one for name, one in digests_of(listed).items() if name not in added
    }


@pytest.mark.usefixtures("few")
def test_commands_read_check_and_replace_it(photographs, tabled, tmp_path):
    assert call("verify", tabled, "--deep").exit_code == 0
    assert call("info", tabled).exit_code == 0
    assert len(shardkit.open(tabled, "train")) == 10
    again = call("convert", photographs, tabled, "--splits", "train=0.8,test=0.2", "--shards", "2")
    assert (again.exit_code, "nothing to do" in again.stderr) == (0, True), again.output
    before = tables(tabled)
    replaced = call("convert", photographs, tabled, "--shards", "4", "--seed", "5", "--overwrite")
    assert replaced.exit_code == 0, replaced.output
    assert len(tables(tabled)) == 1
    assert not set(before) & set(tables(tabled))
    assert call("verify", tabled).exit_code == 0


@pytest.mark.usefixtures("few")
def test_an_append_keeps_the_tables_of_the_manifest_before_it(photographs, tmp_path):
    more = write_tree(
        tmp_path / "more",
        {f"{label}/more-{seed}.png": picture(seed) for seed, label in enumerate(["ant", "bee"] * 6, 20)},
    )
    output = tmp_path / "out"
    before = shardkit.convert(photographs, output, **OPTIONS).manifest
    after = shardkit.append(output, more).manifest
    assert len(tables(output)) == 4
    assert len([*after.shards()]) > len([*before.shards()]) == 4
    assert [*read_manifest(f"{output}@sha256:{before.digest}").shards()] == [*before.shards()]
    assert call("verify", output).exit_code == 0
    assert call("verify", f"{output}@sha256:{before.digest}").exit_code == 0


def damaged(table):
    raw = bytearray(table.read_bytes())
    raw[len(raw) // 2] ^= 1
    table.write_bytes(raw)


@pytest.mark.parametrize(
    ("change", "found"),
    [(lambda table: table.unlink(), "is missing"), (damaged, "has other bytes than the manifest says")],
    ids=["missing", "a bit"],
)
def test_a_table_that_is_missing_or_damaged_is_refused_by_name(change, found, tabled):
    [name, _] = tables(tabled)
    change(tabled / name)
    with pytest.raises(ManifestError, match=f"manifest.json: the table of shards {name} {found}, restore it or"):
        read_manifest(tabled)
    verified = call("verify", tabled)
    assert (verified.exit_code, f"the table of shards {name} {found}" in verified.output) == (1, True), verified.output


def test_a_table_of_a_stranger_that_leaves_the_folder_is_refused(tabled):
    written = read_manifest(tabled)
    split = written.splits["train"]
    index = split.shards[0].index.model_copy(update={"path": "../outside.index.parquet"})
    shards = [split.shards[0].model_copy(update={"index": index}), *split.shards[1:]]
    table = shard_tables.table_of(shards)
    (tabled / table.path).write_bytes(shard_tables.serialize_shards(shards))
    splits = {**written.splits, "train": split.model_copy(update={"shard_table": table})}
    forged = written.model_copy(update={"splits": splits})
    forged = forged.model_copy(update={"digest": shardkit.dataset.manifest.digest_of(forged)})
    (tabled / "manifest.json").write_bytes(forged.to_bytes())
    with pytest.raises(ManifestError, match=r"is not valid at index\.path of shard 0: .*'\.\./outside"):
        read_manifest(tabled)
