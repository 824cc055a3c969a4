"""Work in threads: what the main thread sees while it runs, and how it ends."""

import contextlib
import threading

import pytest

from shardkit.conversion.writing.conversion import Conversion
from shardkit.conversion.writing.job import InventoryTask
from shardkit.errors import MachineError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import Phase, Silent
from shardkit.parallel.threads import ThreadExecutor
from shardkit.testing import write_class_folders

pytestmark = pytest.mark.usefixtures("frequent_progress")
WAIT_SECONDS = 30


class Job:
    """Writes shards, each when the test lets it."""

    def __init__(self, fails=None):
        self.begun, self.may_go_on, self._fails = [], threading.Semaphore(0), fails

    def write(self, task):
        self.begun.append(task)
        assert self.may_go_on.acquire(timeout=WAIT_SECONDS)
        if task == self._fails:
            raise OSError(28, "No space left on device")


class Showing(Silent):
    def __init__(self, show):
        self._show = show

    def phase(self, name, total):
        del name, total
        return contextlib.nullcontext(self._show)


def test_every_shard_is_written_once_and_the_final_number_is_shown():
    job, shown = Job(), []

    def show(done, *_):
        shown.append(done)
        job.may_go_on.release()

    ThreadExecutor(2).for_each("Write", range(7), job.write, Phase(Showing(show), "writing", 7, lambda: len(job.begun)))
    assert sorted(job.begun) == list(range(7))
    assert shown == sorted(shown)
    assert shown[-1] == 7


def test_after_an_error_no_further_shard_is_begun_and_the_ones_at_work_are_awaited():
    job = Job(fails=0)
    job.may_go_on.release(100)
    with pytest.raises(OSError, match="No space left"):
        ThreadExecutor(1).for_each("Write", range(5), job.write, Phase(Silent(), "writing", 5, int))
    assert job.begun == [0]


def test_an_unexpected_error_becomes_a_sentence_with_its_cause():
    job = Job()
    job.write = {}.__getitem__
    with pytest.raises(MachineError, match="a worker failed: KeyError: 0") as raised:
        ThreadExecutor(2).for_each("Write", range(5), job.write, Phase(Silent(), "writing", 5, int))
    assert isinstance(raised.value.__cause__, KeyError)


def test_after_ctrl_c_no_further_shard_is_begun():
    job = Job()

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ThreadExecutor(1).for_each("Write", range(5), job.write, Phase(Showing(interrupted), "writing", 5, int))
    job.may_go_on.release(100)
    for thread in threading.enumerate():
        if thread.name.startswith("writing"):
            thread.join(WAIT_SECONDS)
    assert job.begun == [0]


def test_the_phase_is_watched_while_it_runs():
    job = Job()
    phase = Phase(Silent(), "writing", 1, int, watch=job.may_go_on.release)
    ThreadExecutor(1).for_each("Write", [0], job.write, phase)
    assert job.begun == [0]


def test_images_of_one_folder_are_decoded_in_several_threads(tmp_path, monkeypatch):
    write_class_folders(tmp_path / "photos", {"cat": 300, "dog": 10})
    both = threading.Barrier(2)  # two batches at a time, or it breaks
    check_listing, met = InventoryTask.check_listing, threading.Event()

    def checked(*arguments):
        if not met.is_set():
            both.wait(WAIT_SECONDS)
            met.set()
        yield from check_listing(*arguments)

    monkeypatch.setattr(InventoryTask, "check_listing", checked)
    manifest = (
        Conversion(str(tmp_path / "photos"), str(tmp_path / "out"), ConvertOptions.of({"shards": 2}), ThreadExecutor(2))
        .run()
        .manifest
    )
    assert manifest.splits["train"].num_examples == 310
