"""Datasets of strangers: whatever a manifest or an index says, every command ends with 1 and one sentence.

tests/dataset/test_hostile.py has all lies and shows that the one function finds each that every command calls; here,
the worst of them meet all commands.
"""

import json
import resource
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardkit
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import DataError
from shardkit.hashing import sha256_hex
from shardkit.testing import digests_of, picture, write_tree

from ..dataset.hostile import INDEXES, MANIFESTS, with_index, with_manifest
from .calling import call, convert, is_one_sentence

MEMORY = 1 << 20  # KiB, 1 GiB: what a call may add to the process's highest so far


@pytest.fixture(scope="module")
def more(made_once):
    """A source with two images that the dataset lacks."""
    pictures = {f"{name}/new.png": picture(900 + len(name)) for name in ("bee", "zebra")}
    return made_once("more", lambda folder: write_tree(folder, pictures))


COMMANDS = {
    "info": lambda bad, **_: ["info", bad],
    "info --json": lambda bad, **_: ["info", bad, "--json"],
    "verify": lambda bad, **_: ["verify", bad],
    "verify --deep": lambda bad, **_: ["verify", bad, "--deep", "--leaks"],
    "report": lambda bad, new, **_: ["report", bad, "-o", f"{new}.html"],
    "plan": lambda bad, **_: ["plan", bad, "--explain"],
    "plan of a conversion": lambda bad, **_: ["plan", bad, "--shards", "1"],
    "show": lambda bad, **_: ["show", bad, "ant/000.png"],
    "preview": lambda bad, new, **_: ["preview", bad, "-o", f"{new}.png"],
    "extract": lambda bad, new, **_: ["extract", bad, new],
    "convert from it": lambda bad, new, **_: ["convert", bad, new],
    "convert from two": lambda bad, new, good, **_: ["convert", good, bad, new, "--key-prefix"],
    "convert into it": lambda bad, source, **_: ["convert", source, bad],
    "append to it": lambda bad, more, **_: ["append", bad, more],
    "append it": lambda bad, fresh, **_: ["append", fresh, bad],
    "diff": lambda bad, good, **_: ["diff", bad, good],
    "export": lambda bad, **_: ["export", bad, "--to", "dali-index"],
    "bench": lambda bad, **_: ["bench", bad],
}


def ends_with_a_sentence(name, folders, exit_codes):
    """Run a command; it tells what is wrong in one sentence, and writes nowhere but into its own output."""
    before = {folder: digests_of(folder) for folder in (folders["mine"], folders["good"])}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = call(*COMMANDS[name](**folders))  # raises what would be a traceback
    assert result.exit_code in exit_codes, (name, result.output)
    if result.exit_code and not name.startswith("verify"):
        assert is_one_sentence(result.stderr), (name, result.stderr)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < MEMORY, name
    assert {folder: digests_of(folder) for folder in before} == before, name
    shutil.rmtree(folders["new"], ignore_errors=True)
    return result


def laid_out(dataset, source, more, tmp_path):
    """The folders that commands get; the dataset of a victim lies where a path above the new one leads."""
    mine = shutil.copytree(dataset, tmp_path / "mine")
    (tmp_path / "a" / "b").mkdir(parents=True)
    return {"good": dataset, "source": source, "more": more, "mine": mine, "new": tmp_path / "a" / "b" / "new"}


@pytest.mark.parametrize(
    "lie", ["split of another dataset", "no splits", "fewer class counts", "shard above", "many examples for the bytes"]
)
def test_no_command_believes_a_manifest(lie, dataset, source, more, tmp_path):
    folders = laid_out(dataset, source, more, tmp_path)
    change, sentence = MANIFESTS[lie]
    bad = with_manifest(dataset, tmp_path / "bad", change)
    for name in COMMANDS:
        result = ends_with_a_sentence(name, folders | {"bad": bad, "fresh": folders["mine"]}, {1})
        assert sentence in result.output, (name, result.output)
    for use in (lambda: shardkit.open(str(bad), "train"), lambda: read_manifest(str(bad))):
        with pytest.raises(DataError, match=r"bad/manifest\.json: the manifest (contradicts itself|is not valid)"):
            use()
    assert not [path for path in tmp_path.iterdir() if path.name not in {"mine", "bad", "a"}]


# Commands that read the columns concerned end with 1; others need not look at them.
@pytest.mark.parametrize(
    ("lie", "concerned"),
    [
        ("a high image", ["info", "verify", "report", "convert from it", "convert from two"]),
        ("a huge offset", ["info", "verify", "report", "show", "preview", "extract", "convert from it", "export"]),
        ("an image behind its record", ["info", "verify", "report", "convert from it"]),
        ("a huge class", ["verify", "report", "convert from it", "append to it"]),
        ("a huge class of several", ["info", "verify", "report", "convert from it", "append to it"]),
        ("many rows", [*COMMANDS.keys() - {"info --json", "plan", "convert into it", "bench"}]),
    ],
)
def test_no_command_believes_an_index(lie, concerned, dataset, source, more, tmp_path):
    folders = laid_out(dataset, source, more, tmp_path)
    change, sentence = INDEXES[lie]
    bad = with_index(dataset, tmp_path / "bad", change)
    for name in COMMANDS.keys() - {"bench"}:
        if name == "append it" and name not in concerned:
            continue
        exit_codes = {1} if name in concerned else {0, 1}
        result = ends_with_a_sentence(name, folders | {"bad": bad, "fresh": folders["mine"]}, exit_codes)
        assert name not in concerned or sentence in result.output, (name, result.output)
    if lie != "an image behind its record":  # `open` does not look at that
        with pytest.raises(DataError, match=r"bad/train-00000-of-00003\.index\.parquet: "):
            shardkit.open(str(bad), "train", where="height > 0 and label >= 0 or 5 in labels")


DAMAGES = {
    "empty": b"",
    "cut": b'{\n "format_version": 1,\n "name": "data',
    "nested": b"[" * 200_000,
    "nested objects": b'{"plan_digest":' * 200_000,
    "of others": b"{}",
    "too large": None,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_manifest_is_named_and_its_records_are_not_those_of_others(damage, dataset, source, more, tmp_path):
    folders = laid_out(dataset, source, more, tmp_path)
    bad = shutil.copytree(dataset, tmp_path / "bad")
    if DAMAGES[damage] is None:
        with open(bad / "manifest.json", "wb") as file:
            file.truncate(3 << 30)
    else:
        (bad / "manifest.json").write_bytes(DAMAGES[damage])
    for name in COMMANDS:
        result = ends_with_a_sentence(name, folders | {"bad": bad, "fresh": folders["mine"]}, {1})
        assert "manifest.json: " in result.output, (name, result.output)
        assert "restore it or convert again with --overwrite" in result.output, (name, result.output)
    convert(source, bad, "--overwrite")  # the remedy
    assert call("verify", bad).exit_code == 0


def test_a_lost_manifest_is_named(dataset, tmp_path):
    bad = shutil.copytree(dataset, tmp_path / "bad")
    for name in ("manifest.json", "dataset_info.json"):
        (bad / name).unlink()
    for name in ("info", "convert from it", "plan", "verify", "report", "append to it"):
        result = call(*COMMANDS[name](bad=bad, new=tmp_path / "new", more=tmp_path))
        assert result.exit_code == 1
        assert "this folder has shards and indexes of one: restore it or convert again" in result.output
    assert not (tmp_path / "new").exists()


def test_lost_manifests_of_appends_are_named(dataset, more, tmp_path):
    grown = shutil.copytree(dataset, tmp_path / "grown")
    before = read_manifest(str(grown)).digest
    assert call("append", grown, more).exit_code == 0
    assert call("info", f"{grown}@sha256:{before}").exit_code == 0
    shutil.rmtree(grown / "manifests")
    result = call("info", f"{grown}@sha256:{before}")
    assert result.exit_code == 1
    assert (
        f"manifests/{before}.json: the manifest from before an append is missing; restore the folder" in result.stderr
    )


@pytest.mark.parametrize(
    "options",
    [
        {"splits": "x"},
        {"splits": {"train": "1/0", "validation": "1/2"}},
        {"splits": {"train": [1], "validation": 5}},
        {"splits": {"train": "1/2", "validation": "1/2"}, "quality": "x", "resize": "huge"},
        {"shards": "x", "pipelines": 10**30, "shard_bytes": "9"},
        {},
    ],
)
def test_no_command_believes_options(options, dataset, source, more, tmp_path):
    folders = laid_out(dataset, source, more, tmp_path)
    kept = {"plan_version": 2, "shards": 3, "pipelines": 1, "shard_bytes": 1 << 27} if options else {}
    bad = with_manifest(dataset, tmp_path / "bad", lambda fields: fields.update(options=kept | options))
    for name in ("plan", "report", "convert into it", "append to it"):
        ends_with_a_sentence(name, folders | {"bad": bad}, {0, 1, 2})


def with_rejected(dataset, folder, raw):
    """A copy of a dataset with another list of rejected files, whose sha256 and digest are right."""

    def change(fields):
        (listed,) = (one for one in fields["files"] if one["path"] == "rejected.parquet")
        (folder / "rejected.parquet").write_bytes(raw)
        listed |= {"num_bytes": len(raw), "sha256": sha256_hex(raw)}

    return with_manifest(dataset, folder, change)


def parquet_of(columns):
    out = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), out, compression="zstd", use_dictionary=False)
    return out.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"PAR1 no Parquet PAR1", "the list cannot be read"),
        ({"key": ["a"]}, "the list lacks values of its column 'reason'"),
        ({"key": [1], "reason": ["x"], "message": ["x"], "source_bytes": [1]}, "its column 'key'"),
        ({"key": ["a"], "reason": pa.nulls(1, pa.string())}, "its column 'reason'"),
        ({"key": ["a" * (1 << 20)] * 90}, "the list would take too much memory"),
    ],
    ids=range(5),
)
def test_no_command_believes_a_list_of_rejected_files(content, sentence, dataset, tmp_path):
    bad = with_rejected(dataset, tmp_path / "bad", content if isinstance(content, bytes) else parquet_of(content))
    for arguments in (["info", bad, "--rejected"], ["info", bad, "--rejected", "--json"]):
        result = call(*arguments)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "bad/rejected.parquet: the list " in result.stderr
        assert sentence in result.stderr
        assert is_one_sentence(result.stderr)


def test_a_list_of_exports_names_no_file_elsewhere(dataset, source, tmp_path):
    mine = write_tree(tmp_path / "mine", {"precious.txt": b"x"})
    for path in ("../mine/precious.txt", "a\0b", str(mine / "precious.txt")):
        bad = shutil.copytree(dataset, tmp_path / "bad")
        files = {path: {"sha256": None, "manifest": ""}}
        assert call("export", bad, "--to", "croissant").exit_code == 0
        (name,) = (one for one in bad.iterdir() if "exports" in one.name)
        name.write_text(json.dumps(json.loads(name.read_text()) | {"files": files}))
        for arguments in (["info", bad], ["verify", bad], ["convert", source, bad, "--overwrite"]):
            assert call(*arguments).exit_code in {0, 1, 2}
        assert (mine / "precious.txt").read_bytes() == b"x"
        shutil.rmtree(bad)
