import os
import shutil
import signal
import time

import numpy as np
import pytest

from shardkit.storage import TEMPORARY
from shardkit.testing import write_class_folders

from ..cli.calling import TIMEOUT_SECONDS, call, convert, digests, environment
from .crashing import convert_until, counted_changes, interrupt, start_until

SMALL = ["--splits", "train=0.6,validation=0.4", "--shards", "2", "--split-by", "stratified"]
# Several shards a worker and enough work that a signal finds it in the middle.
LARGE = ["--shards", "40", "--resize", "120", "--workers", "2"]


@pytest.fixture(scope="module")
def large_source(tmp_path_factory):
    return write_class_folders(
        tmp_path_factory.mktemp("large"), {"ant": 150, "bee": 100, "cat": 50}, width=240, height=180, kind="JPEG"
    )


@pytest.fixture(scope="module")
def large_wanted(large_source, tmp_path_factory):
    output = tmp_path_factory.mktemp("wanted") / "out"
    convert(large_source, output, *LARGE)
    return digests(output)


def finished_shards(output):
    """Inode and times of every finished shard's two files."""
    found = {}
    for index in output.glob("*.index.parquet"):
        for path in (index, output / index.name.replace(".index.parquet", ".tfrecord")):
            found[path.name] = (path.stat().st_ino, path.stat().st_mtime_ns, path.stat().st_ctime_ns)
    return found


def nothing_left(output):
    return not any(path.name.startswith((TEMPORARY, ".shardkit")) for path in output.rglob("*"))


def test_after_a_power_cut_at_any_write_the_same_command_makes_it_good(source, tmp_path, monkeypatch):
    with counted_changes(monkeypatch) as changes:
        convert(source, tmp_path / "wanted", *SMALL)
    wanted = digests(tmp_path / "wanted")
    publishing = changes.index("manifest.json", changes.index(".shardkit/plan.parquet"))
    assert len(changes) - publishing == 2, "only the log is written after the manifest"
    for last in range(len(changes)):
        output, done = tmp_path / str(last), last % 2 == 0
        convert_until(monkeypatch, lambda paths, last=last: len(paths) > last, source, output, *SMALL, done=done)
        assert (output / "manifest.json").exists() == (last > publishing or (last == publishing and done)), last
        finished = finished_shards(output)
        convert(source, output, *SMALL)
        assert digests(output) == wanted, last
        assert finished.items() <= finished_shards(output).items(), f"{last}: a finished shard was rewritten"
        assert nothing_left(output), last


def test_after_a_power_cut_while_a_dataset_is_replaced_nothing_looks_complete_that_is_not(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 4, "bee": 2})
    convert(source, tmp_path / "old", "--shards", "2")
    shutil.copytree(tmp_path / "old", tmp_path / "wanted")
    with counted_changes(monkeypatch) as changes:
        convert(source, tmp_path / "wanted", "--seed", "1", "--overwrite")
    old, wanted = digests(tmp_path / "old"), digests(tmp_path / "wanted")
    replacing = range(changes.index("manifest.json"), changes.index(".shardkit/plan.parquet", 5) + 3)
    assert len(replacing) >= 8 + 2, "every file of the old one is removed"
    for last in replacing:
        output, done = tmp_path / str(last), last % 2 == 0
        shutil.copytree(tmp_path / "old", output)
        options = ["--seed", "1", "--overwrite"]
        convert_until(monkeypatch, lambda paths, last=last: len(paths) > last, source, output, *options, done=done)
        if (output / "manifest.json").exists():
            assert digests(output).items() >= old.items(), last
        else:
            assert call("verify", output).exit_code == 1
            assert call("info", output).exit_code == 1
        convert(source, output, *options)
        assert digests(output) == wanted, last
        assert nothing_left(output), last


def parts(output):
    return len(list((output / ".shardkit" / "inventory").glob("*.arrow")))


def indexes(output):
    return len(list(output.glob("*.index.parquet")))


@pytest.mark.parametrize(
    ("progress", "steps"),
    [
        (parts, (1, 3)),
        (indexes, (1, 20)),
        (indexes, (8, 39)),
        (indexes, (30, 36)),
    ],
    ids=lambda value: value.__name__ if callable(value) else "-".join(map(str, value)),
)
def test_killed_twice_the_same_command_finishes_what_an_undisturbed_one_writes(
    progress, steps, large_source, large_wanted, tmp_path
):
    output = tmp_path / "out"
    finished = {}
    jitter = np.random.default_rng()
    for step in steps:
        process = start_until(lambda step=step: progress(output) >= step, "convert", large_source, output, *LARGE)
        time.sleep(jitter.uniform(0, 0.03))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it had ended already"
        assert not (output / "manifest.json").exists()
        assert finished.items() <= finished_shards(output).items(), "the second run rewrote a finished shard"
        finished = finished_shards(output)
    said = convert(large_source, output, *LARGE)
    if progress is indexes:
        assert f"going on: {len(finished) // 2} of 40 shards are finished already" in said
    assert finished.items() <= finished_shards(output).items(), "a finished shard was rewritten"
    assert digests(output) == large_wanted
    assert nothing_left(output)


def test_images_checked_before_the_kill_are_not_decoded_again(large_source, tmp_path, monkeypatch):
    output = tmp_path / "out"
    process = start_until(lambda: indexes(output) >= 1, "convert", large_source, output, *LARGE)
    process.kill()
    process.communicate()
    with monkeypatch.context() as patched:
        patched.setattr("shardkit.images.check", lambda data: pytest.fail("decoded again"))
        convert(large_source, output, *LARGE)


@pytest.fixture
def ctrl_c_works():
    # A test run in a shell's background inherits an ignored SIGINT, and so would the process started here.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_works")
@pytest.mark.parametrize(("progress", "step"), [(parts, 1), (indexes, 5)])
def test_ctrl_c_ends_it_with_a_sentence_and_130_and_the_same_command_goes_on(
    progress, step, large_source, large_wanted, tmp_path
):
    output = tmp_path / "out"
    process = start_until(lambda: progress(output) >= step, "convert", large_source, output, *LARGE)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 130
    assert out == b""
    said = err.decode().splitlines()
    assert said[0] == f"{large_source}: read as <label>/…/image"
    assert said[1:] == ["", "Interrupted. What is finished is kept: the same command goes on from there."]
    assert not (output / "manifest.json").exists()
    convert(large_source, output, *LARGE)
    assert digests(output) == large_wanted
    assert nothing_left(output)


@pytest.mark.usefixtures("ctrl_c_works")
@pytest.mark.parametrize("command", ["plan", "verify"])
def test_ctrl_c_of_a_command_that_writes_nothing_leaves_nothing(command, large_source, tmp_path):
    target = large_source
    if command == "verify":
        target = tmp_path / "out"
        convert(large_source, target, "--shards", 40)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = start_until(
        lambda: len(list(temporary.rglob("*.arrow" if command == "plan" else "shard-*.json"))) >= 2,
        command,
        target,
        *(["--deep"] if command == "verify" else []),
        env=environment(TMPDIR=str(temporary)),
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    # Beam leaves an empty folder of its own; it is ours to leave none.
    assert list(temporary.glob("shardkit*")) == []


def test_a_second_conversion_into_one_output_is_refused_and_the_first_is_not_disturbed(
    large_source, large_wanted, tmp_path
):
    output = tmp_path / "out"
    process = start_until(lambda: indexes(output) >= 3, "convert", large_source, output, *LARGE)
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    try:
        before = sorted(os.listdir(output))
        said = convert(large_source, output, *LARGE, exit_code=3)
        assert f"{output}: another shardkit is writing into this folder; wait for it to end" in said
        convert(large_source, output, *LARGE, "--overwrite", exit_code=3)
        assert sorted(os.listdir(output)) == before, "temporaries of the first are not the second's to remove"
    finally:
        process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, err
    assert digests(output) == large_wanted


DIFFERENT = [
    (["--seed", "1"], "seed was 0 and is 1"),
    (["--shards", "3"], "shards was 2 and is 3"),
    (["--splits", "train=0.5,validation=0.5"], "splits was"),
    (["--split-by", "hash"], "split_by was stratified and is hash"),
    (["--quality", "80"], "quality was 95 and is 80"),
    (["--resize", "6"], "resize was None and is 6"),
    (["--check", "header"], "check was decode and is header"),
    (["--name", "other"], "name was dataset and is other"),
    (["--pipelines", "2"], "pipelines was 1 and is 2"),
    (["--shard-size", "64MiB"], "shard_bytes was 134217728 and is 67108864"),
    (["--seed", "1", "--quality", "80"], "quality was 95 and is 80, seed was 0 and is 1"),
]
# They change no byte, so they are no difference.
ALIKE = [["--workers", "1"], ["--max-rejected", "0"], ["--quiet"]]


@pytest.fixture(scope="module")
def interrupted(source, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        output = tmp_path_factory.mktemp("interrupted") / "out"
        interrupt(patched, source, output, *SMALL, shards=2)
    return output


@pytest.fixture(scope="module")
def finished(source, tmp_path_factory):
    output = tmp_path_factory.mktemp("finished") / "out"
    convert(source, output, *SMALL)
    return output


@pytest.mark.parametrize(("options", "difference"), DIFFERENT, ids=[" ".join(options) for options, _ in DIFFERENT])
@pytest.mark.parametrize("state", ["interrupted", "finished"])
def test_another_option_is_refused_by_a_sentence_that_names_the_difference(
    state, options, difference, source, interrupted, finished
):
    output = {"interrupted": interrupted, "finished": finished}[state]
    before = digests(output)
    said = convert(source, output, *SMALL, *options, exit_code=1)
    assert difference in said
    assert "--overwrite" in said
    assert {path: digest for path, digest in digests(output).items() if not path.startswith(".shardkit/")} == {
        path: digest for path, digest in before.items() if not path.startswith(".shardkit/")
    }


def test_a_refused_call_leaves_no_trace_in_a_finished_dataset(source, tmp_path):
    convert(source, tmp_path / "out", *SMALL)
    before = digests(tmp_path / "out", but=())
    convert(source, tmp_path / "out", *SMALL, "--seed", "1", exit_code=1)
    assert digests(tmp_path / "out", but=()) == before


@pytest.mark.parametrize("options", ALIKE, ids=" ".join)
def test_a_finished_conversion_says_so_whatever_changes_no_byte(options, source, finished):
    before = finished_shards(finished)
    said = convert(source, finished, *SMALL, *options)
    assert ("nothing to do" in said) != ("--quiet" in options)
    assert finished_shards(finished) == before
    assert nothing_left(finished)


CHANGES = {
    "a file more": lambda root: (root / "ant" / "new.png").write_bytes((root / "bee" / "000.png").read_bytes()),
    "a file less": lambda root: (root / "ant" / "000.png").unlink(),
    "a file renamed": lambda root: (root / "ant" / "000.png").rename(root / "ant" / "999.png"),
    "a file moved to another class": lambda root: (root / "ant" / "000.png").rename(root / "cat" / "100.png"),
    "another picture of the same size": lambda root: (root / "ant" / "000.png").write_bytes(
        (root / "ant" / "001.png").read_bytes()
    ),
}


@pytest.mark.parametrize(
    ("state", "change"), [("interrupted", "a file less"), *(("finished", change) for change in CHANGES)]
)
def test_a_changed_source_is_refused_until_overwrite_and_then_converted_whole(state, change, tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 7, "bee": 5, "cat": 3})
    output = tmp_path / "out"
    if state == "interrupted":
        interrupt(monkeypatch, source, output, *SMALL, shards=2)
    else:
        convert(source, output, *SMALL)
    CHANGES[change](source)
    said = convert(source, output, *SMALL, exit_code=1)
    assert "the source's files have changed" in said
    convert(source, output, *SMALL, "--overwrite")
    convert(source, tmp_path / "anew", *SMALL)
    assert digests(output) == digests(tmp_path / "anew")
    assert nothing_left(output)


def test_overwrite_replaces_a_dataset_of_more_shards_without_leaving_one(source, tmp_path):
    convert(source, tmp_path / "out", "--shards", "9")
    convert(source, tmp_path / "out", *SMALL, "--overwrite")
    convert(source, tmp_path / "anew", *SMALL)
    assert digests(tmp_path / "out") == digests(tmp_path / "anew")


def test_overwrite_of_an_interrupted_conversion_forgets_its_late_rejects(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 20})
    for i in (3, 8, 15):
        (source / "ant" / f"{i:03d}.png").write_bytes(b"no picture")
    options = ["--check", "header", "--max-rejected", "50%"]
    interrupt(monkeypatch, source, tmp_path / "out", *options, "--shards", "4", shards=4)
    convert(source, tmp_path / "out", *options, "--shards", "2", "--overwrite")
    convert(source, tmp_path / "anew", *options, "--shards", "2")
    assert digests(tmp_path / "out") == digests(tmp_path / "anew")


def test_late_rejects_of_shards_finished_before_the_kill_are_reported_too(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 20})
    for i in (3, 8, 15):
        (source / "ant" / f"{i:03d}.png").write_bytes(b"no picture")
    options = ["--check", "header", "--max-rejected", "50%", "--shards", "4"]
    interrupt(monkeypatch, source, tmp_path / "out", *options, shards=2)
    convert(source, tmp_path / "out", *options)
    convert(source, tmp_path / "anew", *options)
    assert digests(tmp_path / "out") == digests(tmp_path / "anew")


def test_a_file_that_changed_unseen_stops_the_job_once_and_not_for_ever(tmp_path, monkeypatch):
    # rsync --times and cp -p bring another content with the size and the time of the old one.
    source = write_class_folders(tmp_path / "source", {"ant": 12})
    changed = source / "ant" / "005.png"
    times = changed.stat()
    convert_until(monkeypatch, lambda paths: len(paths) > 3, source, tmp_path / "out", "--shards", "3")
    raw = bytearray(changed.read_bytes())
    other = (source / "ant" / "006.png").read_bytes()
    changed.write_bytes(other[: len(raw)].ljust(len(raw), b"\0"))
    os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    said = convert(source, tmp_path / "out", "--shards", "3", exit_code=1)
    assert "ant/005.png: the file has changed since it was checked" in said
    assert not (tmp_path / "out" / "manifest.json").exists()
    convert(source, tmp_path / "out", "--shards", "3", "--overwrite")
    convert(source, tmp_path / "anew", "--shards", "3")
    assert digests(tmp_path / "out") == digests(tmp_path / "anew")


def test_a_file_that_changes_between_its_check_and_its_writing_is_never_written(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 6})
    from shardkit.planning import plan_file

    write_plan = plan_file.write_plan

    def changing(output, plan):
        write_plan(output, plan)
        path = source / "ant" / "002.png"
        path.write_bytes(path.read_bytes()[:-1] + b"!")

    with monkeypatch.context() as patched:
        patched.setattr("shardkit.planning.plan_file.write_plan", changing)
        said = convert(source, tmp_path / "out", exit_code=1)
    assert "ant/002.png: the file has changed since it was checked" in said
    assert not (tmp_path / "out" / "manifest.json").exists()
