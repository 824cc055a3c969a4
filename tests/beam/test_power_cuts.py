import os
import shutil
from fractions import Fraction

import pytest

from shardkit.conversion.planning import plan_file
from shardkit.conversion.writing.conversion import Conversion
from shardkit.dataset.manifest import shard_tables
from shardkit.naming import EARLIER_MANIFESTS
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.threads import ThreadExecutor
from shardkit.testing import digests_of, write_class_folders

from ..cli.calling import call, convert
from .crashing import PowerCut, convert_until, counted_changes, finished_shards, interrupt, nothing_left

SMALL = {"splits": {"train": Fraction(3, 5), "validation": Fraction(2, 5)}, "shards": 2, "split_by": "stratified"}


@pytest.fixture(params=[False, True], ids=["listed", "tables"])
def has_tables(request, monkeypatch):
    """Whether manifests name tables of shards, as those of more than 32,768 shards do."""
    if request.param:
        monkeypatch.setattr(shard_tables, "LISTED_SHARDS", 1)
    return request.param


def tables_of(output):
    """Names of the tables of shards in a dataset's folder."""
    return {path.name for path in (output / EARLIER_MANIFESTS).glob("*.parquet")}


def convert_here(source, output, *, overwrite=False, **options):
    """Convert in this thread: Beam has no part in what is written when, and would take most of the time."""
    made = ConvertOptions.of(options)
    Conversion(str(source), str(output), made, ThreadExecutor(1), overwrite=overwrite).run()


def test_after_a_power_cut_at_any_write_the_same_conversion_makes_it_good(has_tables, tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 7, "bee": 5})
    with counted_changes(monkeypatch) as changes:
        convert_here(source, tmp_path / "wanted", **SMALL)
    wanted = digests_of(tmp_path / "wanted")
    publishing = changes.index("manifest.json", changes.index(plan_file.PATH))
    assert changes[publishing + 1 :] == ["run-log.jsonl", ".shardkit/run"]
    assert len(tables_of(tmp_path / "wanted")) == (2 if has_tables else 0)  # splits
    first = next(i for i, path in enumerate(changes) if path.startswith(EARLIER_MANIFESTS)) if has_tables else 0
    for last in range(first, len(changes)):
        output, done = tmp_path / str(last), last % 2 == 0
        with (
            counted_changes(monkeypatch, is_last=lambda paths, last=last: len(paths) > last, done=done),
            pytest.raises(PowerCut),
        ):
            convert_here(source, output, **SMALL)
        assert (output / "manifest.json").exists() == (last > publishing or (last == publishing and done)), last
        finished = finished_shards(output)
        convert_here(source, output, **SMALL)
        assert digests_of(output) == wanted, last
        assert finished.items() <= finished_shards(output).items(), f"{last}: a finished shard was rewritten"
        assert nothing_left(output), last


def test_after_a_power_cut_while_a_dataset_is_replaced_nothing_looks_complete_that_is_not(
    has_tables, tmp_path, monkeypatch
):
    source = write_class_folders(tmp_path / "source", {"ant": 4, "bee": 2})
    convert(source, tmp_path / "old", "--shards", "2")
    shutil.copytree(tmp_path / "old", tmp_path / "wanted")
    options = {"seed": 1, "shards": 2, "overwrite": True}
    with counted_changes(monkeypatch) as changes:
        convert_here(source, tmp_path / "wanted", **options)
    old, wanted = digests_of(tmp_path / "old"), digests_of(tmp_path / "wanted")
    assert len({*tables_of(tmp_path / "old"), *tables_of(tmp_path / "wanted")}) == (2 if has_tables else 0)
    first = changes.index("manifest.json")
    # The old plan is removed right after the old manifest; the new one is written when all the rest is gone.
    replacing = range(first, changes.index(plan_file.PATH, first + 2) + 3)
    assert len(replacing) >= 8 + 2, "every file of the old one is removed"
    for last in replacing:
        output, done = tmp_path / str(last), last % 2 == 0
        shutil.copytree(tmp_path / "old", output)
        with (
            counted_changes(monkeypatch, is_last=lambda paths, last=last: len(paths) > last, done=done),
            pytest.raises(PowerCut),
        ):
            convert_here(source, output, **options)
        if (output / "manifest.json").exists():
            assert digests_of(output).items() >= old.items(), last
        else:
            assert call("verify", output).exit_code == 1
            assert call("info", output).exit_code == 1
        convert_here(source, output, **options)
        assert digests_of(output) == wanted, last
        assert nothing_left(output), last


def test_overwrite_of_an_interrupted_conversion_forgets_its_late_rejects(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 19, "bee": 1})
    for i in (3, 8, 15):
        (source / "ant" / f"{i:03d}.png").write_bytes(b"no picture")
    options = ["--check", "header", "--max-rejected", "50%"]
    interrupt(monkeypatch, source, tmp_path / "out", *options, "--shards", "4", shards=4)
    convert(source, tmp_path / "out", *options, "--shards", "2", "--overwrite")
    convert(source, tmp_path / "anew", *options, "--shards", "2")
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "anew")


def test_late_rejects_of_shards_finished_before_the_kill_are_reported_too(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 19, "bee": 1})
    for i in (3, 8, 15):
        (source / "ant" / f"{i:03d}.png").write_bytes(b"no picture")
    options = ["--check", "header", "--max-rejected", "50%", "--shards", "4"]
    interrupt(monkeypatch, source, tmp_path / "out", *options, shards=2)
    convert(source, tmp_path / "out", *options)
    convert(source, tmp_path / "anew", *options)
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "anew")


def test_a_file_that_changed_unseen_stops_the_job_once_and_not_for_ever(tmp_path, monkeypatch):
    # rsync --times and cp -p bring another content with the size and the time of the old one.
    source = write_class_folders(tmp_path / "source", {"ant": 11, "bee": 1})
    changed = source / "ant" / "005.png"
    times = changed.stat()
    convert_until(monkeypatch, lambda paths: paths[-1] == plan_file.PATH, source, tmp_path / "out", "--shards", "3")
    raw = bytearray(changed.read_bytes())
    other = (source / "ant" / "006.png").read_bytes()
    changed.write_bytes(other[: len(raw)].ljust(len(raw), b"\0"))
    os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    said = convert(source, tmp_path / "out", "--shards", "3", exit_code=1)
    assert "ant/005.png: the file has changed since it was checked" in said
    assert not (tmp_path / "out" / "manifest.json").exists()
    convert(source, tmp_path / "out", "--shards", "3", "--overwrite")
    convert(source, tmp_path / "anew", "--shards", "3")
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "anew")


def test_a_file_that_was_mended_unseen_is_good_in_the_next_run(tmp_path):
    # A copy from a backup has the size and the time of the damaged one.
    source = write_class_folders(tmp_path / "source", {"ant": 11, "bee": 1})
    mended = source / "ant" / "005.png"
    raw, times = mended.read_bytes(), mended.stat()
    mended.write_bytes(b"\0" * len(raw))
    os.utime(mended, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "ant/005.png: not_an_image" in convert(source, tmp_path / "out", "--max-rejected", "0", exit_code=1)
    mended.write_bytes(raw)
    os.utime(mended, ns=(times.st_atime_ns, times.st_mtime_ns))
    convert(source, tmp_path / "out", "--max-rejected", "0")
    convert(source, tmp_path / "anew")
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "anew")


def test_a_file_that_changes_between_its_check_and_its_writing_is_never_written(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 5, "bee": 1})
    write_rows = plan_file.write_rows

    def changing(output, plan):
        write_rows(output, plan)
        path = source / "ant" / "002.png"
        path.write_bytes(path.read_bytes()[:-1] + b"!")

    with monkeypatch.context() as patched:
        patched.setattr("shardkit.conversion.planning.plan_file.write_rows", changing)
        said = convert(source, tmp_path / "out", exit_code=1)
    assert "ant/002.png: the file has changed since it was checked" in said
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_what_an_interrupted_conversion_left_inside_of_its_source_is_no_part_of_the_source(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"train/a": 5, "test/a": 4, "train/b": 1})
    convert(source, tmp_path / "out", "--shards", "2")
    interrupt(monkeypatch, source, source / "out", "--shards", "2", shards=2)
    convert(source, source / "out", "--shards", "2")
    assert digests_of(source / "out") == digests_of(tmp_path / "out")
