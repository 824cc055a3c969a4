"""Workers that do not see what the driver sees: they fail by name, nothing vanishes."""

import platform
import shutil

import pytest

from shardkit.conversion.inventory.parts import read_parts
from shardkit.conversion.writing import inventory_tasks
from shardkit.conversion.writing.job import InventoryTask
from shardkit.conversion.writing.refusals import ListingCheck
from shardkit.errors import DataError, MachineError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.for_each import Guard, raise_failure
from shardkit.parallel.reports import Reports
from shardkit.parallel.run_token import claimed
from shardkit.sources import SourceOptions, hosts
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import picture, work_on, write_tree

IMAGE = picture(1)
XML = b"<annotation><filename>a.png</filename><size><width>8</width><height>8</height></size></annotation>"
CLASSES = {"cat/1.png": IMAGE, "dog/1.png": picture(2), "dog/2.png": picture(3)}


class Workers:
    """The inventory's steps called one after the other, on a host that may see less than the driver."""

    def __init__(self, root, files, options=SourceOptions(), check="decode", *, is_remote=False):  # noqa: B008 - frozen
        self.root = write_tree(root / "source", files)
        self.work = open_folder(str(root / "work"))
        self.work.create()
        self.source = open_source(str(self.root), options, work=self.work)
        self.groups = inventory_tasks.part_groups(self.source, is_remote=is_remote)
        self.check = check

    def take(self, run, *, between=lambda: None):
        listing = ListingCheck(self.source, ConvertOptions(check=self.check))
        job = InventoryTask(Guard(self.work, run.token), listing, self.groups, len(self.groups), is_filled=True)
        listed = [batch for group in self.groups for batch in work_on(job.list_group, group, self.work, run.token)]
        between()
        checked = [found for batch in listed for found in work_on(job.check_listing, batch, self.work, run.token)]
        job.keep_names(checked)
        raise_failure(self.work)
        return read_parts(self.work, inventory_tasks.read_part_names(self.work, len(self.groups)))[0]

    def hide(self, path):
        """Leave an empty folder, as a mount point is that nothing is mounted on."""
        shutil.rmtree(self.root / path)
        (self.root / path).mkdir()


LAYOUTS = {
    "class folders": (CLASSES, SourceOptions(), "dog"),
    "file names": (CLASSES, SourceOptions(label_pattern="^(.)"), "cat"),
    "masks": ({"images/a.png": IMAGE, "masks/a.png": IMAGE}, SourceOptions(), "masks"),
    "voc": ({"Annotations/a.xml": XML, "JPEGImages/a.png": IMAGE}, SourceOptions(), "Annotations/*.xml"),
    "yolo": ({"classes.txt": b"cat", "images/a.png": IMAGE, "labels/a.txt": b""}, SourceOptions(), "labels/**/*.txt"),
}


@pytest.mark.parametrize(("files", "options", "hidden"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_folder_that_is_empty_on_one_worker_fails_by_host_and_path(files, options, hidden, tmp_path):
    workers = Workers(tmp_path, files, options)
    workers.hide(hidden.partition("/")[0])
    with claimed(workers.work) as run, pytest.raises(MachineError) as raised:
        workers.take(run)
    assert f"{workers.root}/{hidden}: host {platform.node()} sees " in str(raised.value)


def test_a_folder_of_which_one_worker_sees_less_fails_by_host_and_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(hosts, "PAUSES_SECONDS", ())
    workers = Workers(tmp_path, CLASSES, is_remote=True)
    (workers.root / "dog" / "1.png").unlink()
    with claimed(workers.work) as run, pytest.raises(MachineError) as raised:
        workers.take(run)
    found = f"host {platform.node()} sees 1 files and folders, the driver saw 2; give every worker the same files"
    assert str(raised.value).startswith(f"{workers.root}/dog: {found}")


def test_workers_that_see_what_the_driver_counted_list_all_of_it(tmp_path):
    many = {f"class-{i}/{j}.png": IMAGE for i in range(inventory_tasks.LOOKING_THREADS + 1) for j in range(i % 3)}
    workers = Workers(tmp_path, many | {"class-0/": b""}, SourceOptions(layout="class-folders"), is_remote=True)
    pairs = [pair for _, group in workers.groups for pair in zip(group.parts, group.num_entries, strict=True)]
    seen = {part.path: counts for part, counts in pairs}
    assert [seen[f"class-{i}"] for i in range(3)] == [(0,), (1,), (2,)]
    with claimed(workers.work) as run:
        assert workers.take(run)["key"].to_pylist() == sorted(many)


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
                workers.work.remove(inventory_tasks.PART_NAMES)
            else:
                workers.take(run)
            with pytest.raises(MachineError, match="parts of the source, "):
                inventory_tasks.read_part_names(workers.work, num_groups)


def test_rejected_images_are_counted_while_they_are_checked_and_again_by_a_resumed_run(tmp_path):
    workers = Workers(tmp_path, {**CLASSES, "cat/bad.png": b"no image", "dog/bad.png": b"no image"})
    for _ in range(2):
        with claimed(workers.work) as run:
            inventory_tasks.remove_earlier_results(workers.work)
            assert Reports(workers.work, inventory_tasks.REJECTED).total() == 0
            workers.take(run)
            assert Reports(workers.work, inventory_tasks.REJECTED).total() == 2


def test_workers_of_an_ended_inventory_write_nothing(tmp_path):
    workers = Workers(tmp_path, CLASSES)
    with claimed(workers.work) as run:
        stale = run
    with claimed(workers.work):
        with pytest.raises(MachineError, match="parts of the source, "):
            workers.take(stale)
        assert [entry.name for entry in workers.work.scan(".shardkit")] == ["run"]


def test_a_damaged_list_of_labels_is_still_the_datas_fault(tmp_path, monkeypatch):
    workers = Workers(tmp_path, CLASSES)

    def damaged(*_):
        raise DataError("labels.csv: damaged")
        yield

    monkeypatch.setattr(type(workers.source), "list_part", damaged)
    with claimed(workers.work) as run, pytest.raises(DataError, match=r"labels\.csv: damaged"):
        workers.take(run)
