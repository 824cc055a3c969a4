"""Workers that do not see what the driver sees: they fail by name, nothing vanishes."""

import contextlib
import platform
import shutil
import threading

import pytest

from shardkit.errors import DataError, MachineError
from shardkit.inventory.inventory import read_parts
from shardkit.pipelines import inventory
from shardkit.pipelines.progress import run_with_progress
from shardkit.sources import SourceOptions, open_source
from shardkit.storage.folders import open_folder
from shardkit.testing import picture, write_tree
from shardkit.writing.run_token import claimed

IMAGE = picture(1)
XML = b"<annotation><filename>a.png</filename><size><width>8</width><height>8</height></size></annotation>"
CLASSES = {"cat/1.png": IMAGE, "dog/1.png": picture(2), "dog/2.png": picture(3)}


class Workers:
    """The inventory's steps called one after the other, on a host that may see less than the driver."""

    def __init__(self, root, files, options=SourceOptions(), check="decode"):  # noqa: B008 - frozen
        self.root = write_tree(root / "source", files)
        self.work = open_folder(str(root / "work"))
        self.work.make()
        self.source = open_source(str(self.root), options, work=self.work)
        self.groups = inventory.part_groups(self.source)
        self.check = check

    def take(self, run, *, between=lambda: None):
        job = inventory._Job(self.source, self.work, self.check, run.token, is_filled=True)
        listed = [found for index, group in self.groups for found in inventory._list((index, [group]), job)]
        between()
        checked = [found for batch_id, listing in listed for found in inventory._check((batch_id, [listing]), job)]
        inventory._write_names((0, [name for _, name in checked]), job)
        return read_parts(self.work, inventory.part_names(self.work, len(self.groups)))[0]

    def hide(self, path):
        """Leave an empty folder, as a mount point is that nothing is mounted on."""
        shutil.rmtree(self.root / path)
        (self.root / path).mkdir()


LAYOUTS = {
    "class folders": (CLASSES, SourceOptions(), "dog"),
    "file names": (CLASSES, SourceOptions(label_pattern="^(.)"), "cat"),
    "masks": ({"images/a.png": IMAGE, "masks/a.png": IMAGE}, SourceOptions(), "masks"),
    "voc": ({"Annotations/a.xml": XML, "JPEGImages/a.png": IMAGE}, SourceOptions(), "Annotations"),
    "yolo": ({"classes.txt": b"cat", "images/a.png": IMAGE, "labels/a.txt": b""}, SourceOptions(), "images"),
}


@pytest.mark.parametrize(("files", "options", "hidden"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_folder_that_is_empty_on_one_worker_fails_by_host_and_path(files, options, hidden, tmp_path):
    workers = Workers(tmp_path, files, options)
    workers.hide(hidden)
    with claimed(workers.work) as run, pytest.raises(MachineError) as raised:
        workers.take(run)
    assert f"{workers.root}/{hidden}: host {platform.node()} sees " in str(raised.value)


def test_an_empty_folder_that_the_driver_sees_empty_too_is_none_of_it(tmp_path):
    workers = Workers(tmp_path, {**CLASSES, "empty/": b""})
    with claimed(workers.work) as run:
        assert workers.take(run)["key"].to_pylist() == sorted(CLASSES)


@pytest.mark.parametrize("hidden", ["dog", "."])
def test_a_folder_that_vanishes_before_its_files_are_checked_fails_by_host_too(hidden, tmp_path):
    workers = Workers(tmp_path, CLASSES)
    with claimed(workers.work) as run, pytest.raises(MachineError, match=f"host {platform.node()} sees no file"):
        workers.take(run, between=lambda: workers.hide(hidden))


def test_a_file_that_vanishes_alone_is_rejected(tmp_path):
    workers = Workers(tmp_path, CLASSES)
    with claimed(workers.work) as run:
        found = workers.take(run, between=(workers.root / "dog/1.png").unlink)
    assert found["reason"].to_pylist() == [None, "unreadable", None]


def test_batches_that_no_worker_checked_are_missed(tmp_path):
    workers = Workers(tmp_path, CLASSES)
    with claimed(workers.work) as run:
        workers.take(run)
        for lost in ("cat", "all"):
            groups = workers.groups if lost == "all" else workers.groups[:1]
            workers.groups = workers.groups[1:]
            num_groups = len(workers.groups) + len(groups)
            if lost == "all":
                workers.work.remove(inventory.PART_NAMES)
            else:
                workers.take(run)
            with pytest.raises(MachineError, match="none said why"):
                inventory.part_names(workers.work, num_groups)


def test_workers_of_an_ended_inventory_write_nothing(tmp_path):
    workers = Workers(tmp_path, CLASSES)
    with claimed(workers.work) as run:
        stale = run
    with claimed(workers.work):
        with pytest.raises(MachineError, match="none said why"):
            workers.take(stale)
        assert [entry.name for entry in workers.work.scan(".shardkit")] == ["run"]


class Quiet:
    """A listener that shows nothing."""

    def say(self, text): ...

    def phase(self, name, total):
        return contextlib.nullcontext(lambda done: None)


@pytest.mark.parametrize("in_process", [True, False])
def test_a_poll_of_the_progress_that_fails_does_not_end_the_job(in_process, monkeypatch):
    polled_twice, polls = threading.Event(), []

    class RunnerConfig:
        def run(self, _):
            assert polled_twice.wait(30), "one failure ended the polling"

    RunnerConfig.in_process = in_process

    def count():
        polls.append(1)
        if len(polls) == 1:
            raise OSError(5, "SlowDown")
        if len(polls) == 2:
            raise ValueError("a stranger's file")
        polled_twice.set()
        return 1

    monkeypatch.setattr("shardkit.pipelines.progress.POLL_SECONDS", 0.01)
    run_with_progress(RunnerConfig(), None, Quiet(), phase="writing", total=1, count=count)
    assert len(polls) >= 3


def test_a_damaged_list_of_labels_is_still_the_datas_fault(tmp_path, monkeypatch):
    workers = Workers(tmp_path, CLASSES)

    def damaged(*_):
        raise DataError("labels.csv: damaged")
        yield

    monkeypatch.setattr(type(workers.source), "list_part", damaged)
    with claimed(workers.work) as run, pytest.raises(DataError, match=r"labels\.csv: damaged"):
        workers.take(run)
