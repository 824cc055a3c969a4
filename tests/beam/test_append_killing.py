"""Appends that die, at every change to the disk and of a real signal: the dataset is the old one or the new one."""

import shutil
import signal
import subprocess

import pytest

from shardkit.dataset.manifest import read_manifest, shard_tables
from shardkit.parallel.progress import Silent
from shardkit.parallel.threads import ThreadExecutor
from shardkit.storage import TEMPORARY, LocalFolder
from shardkit.testing import append_without_beam, convert_without_beam, digests_of, write_class_folders
from shardkit.verification.dataset import verify_dataset

from ..cli.calling import TIMEOUT_SECONDS, call, start
from .crashing import PowerCut, counted_changes, nothing_left, start_until


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    root = tmp_path_factory.mktemp("old")
    convert_without_beam(str(write_class_folders(root / "source", {"ant": 3, "bee": 2})), str(root / "out"))
    return root / "out"


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    return write_class_folders(tmp_path_factory.mktemp("new"), {"bee/new": 2, "cat/new": 3}, width=9)


def is_whole(dataset, *, after_a_kill=False):
    """Whether `verify` finds nothing; it names temporary files of a writer that was killed."""
    found = verify_dataset(LocalFolder(str(dataset)), ThreadExecutor(1), Silent(), deep=False)[1]
    return [one for one in found if not (after_a_kill and one.file.startswith(TEMPORARY))] == []


def check_every(old, new, tmp_path, monkeypatch, *, publishing_only):
    """Cut the power at every change, or at every one after the last shard, and run the append again."""
    wanted = shutil.copytree(old, tmp_path / "wanted")
    with counted_changes(monkeypatch) as changes:
        append_without_beam(str(wanted), str(new))
    digest, replaced = read_manifest(str(old)).digest, len(changes) - 1 - changes[::-1].index("manifest.json")
    kept = f"manifests/{digest}.json"
    assert changes[replaced - 1] == kept, "the old manifest is kept first"
    first = changes.index("manifest.json") if publishing_only else 0
    for last in range(first, len(changes)):
        # A change that was done is the one before the next that was not.
        for done in (True, False) if last == replaced or not publishing_only else (False,):
            dataset = shutil.copytree(old, tmp_path / f"{last}{done}")
            with (
                counted_changes(monkeypatch, is_last=lambda paths, last=last: len(paths) > last, done=done),
                pytest.raises(PowerCut),
            ):
                append_without_beam(str(dataset), str(new))
            is_new = last > replaced or (last == replaced and done)
            assert len(read_manifest(str(dataset)).classes) == (3 if is_new else 2), (last, done)
            pinned = read_manifest(f"{dataset}@sha256:{digest}")
            assert pinned.to_bytes() == (old / "manifest.json").read_bytes()
            before = digests_of(old)
            assert {path: one for path, one in digests_of(dataset).items() if path in before} == (
                before if not is_new else before | {"manifest.json": digests_of(wanted)["manifest.json"]}
            ), (last, done)
            append_without_beam(str(dataset), str(new))
            logs = ("run-log.jsonl", "append-0001/run-log.jsonl")
            assert digests_of(dataset, but=logs) == digests_of(wanted, but=logs), (last, done)
            assert nothing_left(dataset), (last, done)
            assert is_whole(dataset)
            shutil.rmtree(dataset)


@pytest.mark.parametrize("listed", [shard_tables.LISTED_SHARDS, 0], ids=["listed", "tables"])
def test_after_a_power_cut_at_any_write_of_publishing_the_same_append_makes_it_good(
    listed, old, new, tmp_path, monkeypatch
):
    monkeypatch.setattr(shard_tables, "LISTED_SHARDS", listed)
    check_every(old, new, tmp_path, monkeypatch, publishing_only=True)


@pytest.mark.slow  # the test above does the same from the generation's manifest on
def test_after_a_power_cut_at_any_write_the_same_append_makes_it_good(old, new, tmp_path, monkeypatch):
    check_every(old, new, tmp_path, monkeypatch, publishing_only=False)


@pytest.mark.slow  # the tests above kill at every step, without a signal
@pytest.mark.parametrize("step", ["inventory", "shard", "generation", "kept"])
def test_killed_by_a_signal_the_dataset_is_the_old_one_and_the_same_append_finishes(step, old, tmp_path):
    counts = {"bee": 60, "cat": 90}
    new = write_class_folders(tmp_path / "new", {f"{name}/n": number for name, number in counts.items()}, width=300)
    dataset = shutil.copytree(old, tmp_path / "out")
    before = digests_of(dataset)
    reached = {
        "inventory": lambda: any(dataset.glob("append-0001/.shardkit/inventory/*")),
        "shard": lambda: any(dataset.glob("append-0001/*.index.parquet")),
        "generation": (dataset / "append-0001" / "manifest.json").exists,
        "kept": (dataset / "manifests").exists,
    }
    words = ("append", dataset, new, "--shards", "20", "--workers", "2", "--reading", "detected")
    process = start_until(reached[step], *words)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIMEOUT_SECONDS)
    killed = process.returncode == -signal.SIGKILL
    classes = read_manifest(str(dataset)).classes
    assert classes in (["ant", "bee"], ["ant", "bee", "cat"])
    now = digests_of(dataset)
    same = {path for path in before if now[path] == before[path]}
    assert same == set(before) - (set() if classes == ["ant", "bee"] else {"manifest.json"})
    assert killed or classes == ["ant", "bee", "cat"]
    assert is_whole(dataset, after_a_kill=True)
    said = call(*words)
    assert said.exit_code == 0, said.stderr
    assert read_manifest(str(dataset)).classes == ["ant", "bee", "cat"]
    assert nothing_left(dataset)
    assert is_whole(dataset)
    assert not (dataset / "append-0002").exists()


@pytest.mark.slow  # a second process waits for nothing: the lock is tested with every conversion
def test_two_appends_at_once_do_not_mix(old, tmp_path):
    dataset = shutil.copytree(old, tmp_path / "out")
    sources = [write_class_folders(tmp_path / one, {f"{one}/x{one}": 30, f"bee/x{one}": 5}, width=200) for one in "pq"]
    processes = [
        start("append", dataset, source, "--reading", "detected", stdout=subprocess.DEVNULL) for source in sources
    ]
    said = [process.communicate(timeout=TIMEOUT_SECONDS)[1].decode() for process in processes]
    codes = [process.returncode for process in processes]
    assert 0 in codes, said
    for source in sources:
        assert call("append", dataset, source, "--reading", "detected").exit_code == 0
    assert len(read_manifest(str(dataset)).generations) == 3
    assert is_whole(dataset)
    assert nothing_left(dataset)
