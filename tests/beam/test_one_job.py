"""A conversion on an engine is one job; whatever ends it reaches the user as it does without an engine."""

import importlib
import re

import pytest

from shardkit.beam import conversion as wiring
from shardkit.conversion.inventory.source_files import SourceFiles
from shardkit.conversion.writing import inventory_tasks, steps
from shardkit.conversion.writing.output import finished_shards
from shardkit.errors import MachineError
from shardkit.host import Host
from shardkit.testing import digests_of, write_class_folders

from ..cli.calling import IN_PROCESS_RUNNER, call, convert
from .crashing import nothing_left

CLOCK = re.compile(r"[\d,.]+ (s|images/s|\w+/s)\b|^(listing|checking|planning|writing): .*\n", re.MULTILINE)


@pytest.fixture
def jobs(monkeypatch):
    """The jobs that run during the test."""
    run, found = wiring.run_with_progress, []

    def noting(*given):
        found.append(given)
        run(*given)

    monkeypatch.setattr(wiring, "run_with_progress", noting)
    return found


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """A class has one image, and another one is bad: findings and rejects."""
    root = write_class_folders(tmp_path_factory.mktemp("photographs"), {"ant": 9, "bee": 1, "cat": 9})
    (root / "cat" / "003.png").write_bytes(b"no picture")
    return root


def said(result):
    """Everything that is printed, without what depends on the clock, and without the runner in commands."""
    timeless = CLOCK.sub("", result.output)
    return timeless.replace(f" {IN_PROCESS_RUNNER}", ""), result.exit_code


def both(command, tmp_path, *words):
    """The same command with threads and with a runner, into `threads` and `engine`, which are named alike."""
    results = [
        call(command, *(str(word).replace("OUT", str(tmp_path / name / "out")) for word in words), *more)
        for name, more in (("threads", []), ("engine", [IN_PROCESS_RUNNER]))
    ]
    return [tuple(str(one).replace(f"/{name}/", "/") for one in said(result)) for name, result in
            zip(("threads", "engine"), results, strict=True)]  # fmt: skip


def test_it_writes_and_says_the_same_as_threads_and_is_one_job(photographs, jobs, tmp_path):
    words = (photographs, "OUT", "--max-rejected", "1", "--splits", "train=0.5,test=0.5", "--shards", "3")
    threads, engine = both("convert", tmp_path, *words)
    assert engine == threads
    assert len(jobs) == 1
    assert digests_of(tmp_path / "engine" / "out") == digests_of(tmp_path / "threads" / "out")
    (again, on_engine), log = both("convert", tmp_path, *words), (tmp_path / "engine" / "out" / "run-log.jsonl")
    assert "nothing to do" in again[0]
    assert on_engine == again
    assert re.findall(r'"event": "(\w+)"', log.read_text())[:4] == [*("inventory", "plan", "write", "publish")]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["--max-rejected", "0"], 1, marks=pytest.mark.slow),  # found when it plans
        (["--max-rejected", "0", "--check", "header"], 1),  # found when it publishes
        (["--group-by", "patient([0-9])", "--check", "header"], 2),  # found when it plans, with a change of the call
    ],
    ids=["planning", "publishing", "options"],
)
def test_what_refuses_it_is_the_same_sentence_with_the_same_exit_code(words, code, photographs, tmp_path):
    threads, engine = both("convert", tmp_path, photographs, "OUT", *words)
    assert threads[1] == str(code)
    assert engine == threads
    assert not (tmp_path / "engine" / "out" / "manifest.json").exists()


def test_an_append_that_has_nothing_to_add_says_so(photographs, tmp_path):
    for name in ("threads", "engine"):
        assert call("convert", photographs, tmp_path / name / "out", "--max-rejected", "1").exit_code == 0
    threads, engine = both("append", tmp_path, "OUT", photographs, "--max-rejected", "1")
    assert threads[1] == "0"
    assert engine == threads


@pytest.mark.parametrize("runner", [[], [IN_PROCESS_RUNNER]], ids=["threads", "engine"])
def test_publishing_reads_no_index_of_a_shard_that_this_run_has_written(runner, tmp_path, monkeypatch):
    root, out = write_class_folders(tmp_path / "source", {"ant": 9, "cat": 9}), tmp_path / "out"
    words = (root, out, "--shards", "3", *runner)
    parsed, parse, check = [], finished_shards.parse_index, steps.check_finished_shards
    monkeypatch.setattr(
        finished_shards, "parse_index", lambda raw, **given: parsed.append(given["where"]) or parse(raw, **given)
    )
    monkeypatch.setattr(steps, "check_finished_shards", lambda *given: parsed.clear() or check(*given))

    def failing(*_):
        raise MachineError("the network failed")

    with monkeypatch.context() as broken:
        broken.setattr(steps, "publish", failing)
        convert(*words, exit_code=3)
    (out / "train-00001-of-00003.index.parquet").unlink()
    path = out / "train-00002-of-00003.tfrecord"
    path.write_bytes(path.read_bytes()[:-1])
    assert not parsed
    convert(*words)  # writes both again
    assert parsed == [f"{out}/train-00000-of-00003.index.parquet"]
    convert(root, tmp_path / "unbroken", "--shards", "3")
    assert digests_of(out) == digests_of(tmp_path / "unbroken")


def test_more_images_than_the_memory_of_the_host_holds_are_refused_and_the_next_run_goes_on(
    photographs, tmp_path, monkeypatch
):
    words = (photographs, tmp_path / "out", "--max-rejected", "1")
    planning, identical = "planning 19 images takes 3.7 KiB of memory", ("--dedupe", "identical")
    with monkeypatch.context() as small:
        small.setattr(inventory_tasks, "this_host", lambda: Host(2, 19 * 165 - 1))
        said = convert(*words, exit_code=3)
        assert f"{planning} and this host has 3.1 KiB: run the same command where one host has more, or convert" in said
        assert "planning 19 images takes 3.1 KiB" in convert(*words, *identical, exit_code=3)
        small.setattr(inventory_tasks, "this_host", lambda: Host(2, 19 * 165))
        for runner in ((), (IN_PROCESS_RUNNER,)):
            assert "or add --dedupe identical, which takes 3.1 KiB" in convert(*words, *runner, exit_code=3)
        convert(*words, *identical)
        small.setattr(inventory_tasks, "this_host", lambda: Host(2, 19 * 198))
        convert(*words, "--overwrite")


def test_a_job_that_the_engine_has_forgotten_is_looked_for_in_the_output(photographs, tmp_path, monkeypatch):
    words = ("convert", photographs, tmp_path / "out", "--max-rejected", "1", IN_PROCESS_RUNNER)
    run = wiring.run_with_progress

    def forgetting(*given):
        if runs:
            run(*given)
        raise MachineError("the runner failed: FlinkJobNotFoundException")

    monkeypatch.setattr(wiring, "run_with_progress", forgetting)
    runs = False
    lost = call(*words)
    assert (lost.exit_code, "FlinkJobNotFoundException" in lost.stderr) == (3, True)
    runs = True
    assert call(*words).exit_code == 0
    assert nothing_left(tmp_path / "out")
    convert(photographs, tmp_path / "threads", "--max-rejected", "1")
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "threads")


@pytest.mark.parametrize(
    ("check", "reader", "look"),
    [
        ("decode", "inventory.checking", "job.refuse_seen_rejects"),
        ("header", "writing.shard", "steps.refuse_seen_late_rejects"),
    ],
)
def test_what_no_worker_reads_and_the_driver_does_is_not_left_out(check, reader, look, tmp_path, monkeypatch):
    root = write_class_folders(tmp_path / "photos", {"ant": 5, "bee": 5})
    looks, real = [], importlib.import_module("shardkit.conversion.writing.seen_rejects")

    class RefusedFiles(SourceFiles):
        def _image(self, row):
            if row["key"] == "bee/003.png":
                raise FileNotFoundError(2, "No such file or directory")
            return super()._image(row)

    def looking(*given, **named):
        if looks:
            getattr(real, look.partition(".")[2])(*given, **named)
        looks.append("the host that plans or publishes lacks the file, too")

    with monkeypatch.context() as workers:
        workers.setattr(f"shardkit.conversion.{reader}.SourceFiles", RefusedFiles)
        workers.setattr(f"shardkit.conversion.writing.{look}", looking)
        words = (root, tmp_path / "out", "--max-rejected", "50%", "--check", check)
        said = convert(*words, IN_PROCESS_RUNNER, exit_code=3)
    assert f"{root}/bee/003.png: " in said
    assert "and the driver reads it; give all workers the same mounts" in said
    assert not (tmp_path / "out" / "manifest.json").exists()
    convert(*words, IN_PROCESS_RUNNER)
    convert(root, tmp_path / "threads", "--max-rejected", "50%", "--check", check)
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "threads")
