"""Failures of workers reach the driver, which stops the others; results are files with numbers in their names."""

import pickle
import platform
from functools import partial

import pytest

from shardkit.errors import CallError, DataError, MachineError, StaleRunError
from shardkit.options.words import named, written_as
from shardkit.parallel import driver_view
from shardkit.parallel.driver_view import DriverView
from shardkit.parallel.for_each import Guard, for_each, raise_failure, report_failure, watched
from shardkit.parallel.progress import Phase, Silent
from shardkit.parallel.reports import Report, Reports
from shardkit.parallel.run_token import Fence, claimed
from shardkit.parallel.threads import ThreadExecutor
from shardkit.storage import open_folder
from shardkit.testing import work_on

pytestmark = pytest.mark.usefixtures("frequent_progress")
HOST = f"host {platform.node()}"
OTHER_PILLOW = DriverView((("pillow", "0.1"),), ())


def phase():
    return Phase(Silent(), "working", None, int)


@pytest.fixture
def folder(tmp_path):
    return open_folder(str(tmp_path))


class Work:
    """Reports each item, except one that fails."""

    def __init__(self, fails=None, error=None):
        self.fails, self.error = fails, error

    def __call__(self, item, fence):
        if item == self.fails:
            raise self.error
        Reports(fence.folder, "squares").write(fence, item, item**2, data=b"x" * item)


def test_each_item_is_done_and_its_report_is_read_in_order(folder):
    with claimed(folder) as run:
        for_each(ThreadExecutor(2), run, "Square", [3, 1, 0, 2], Work(), phase())
        reports = Reports(folder, "squares")
        assert [(report.item, report.numbers) for report in reports.found()] == [(i, (i**2,)) for i in range(4)]
        assert reports.total() == 14
        assert reports.read(4) == [b"", b"x", b"xx", b"xxx"]
        with pytest.raises(MachineError, match="what workers found in 1 of 5 files is missing; a remote --runner"):
            reports.read(5)
        reports.remove()
        assert reports.found() == []


def test_an_item_that_is_done_twice_has_one_report(folder):
    with claimed(folder) as run:
        reports, fence = Reports(folder, "squares"), Fence(folder, run.token)
        for count in (5, 4):  # a file that was repaired between two attempts
            reports.write(fence, 7, count)
        assert reports.found() in ([Report(f"{reports.path}/00000007-{n}.report", 7, (n,))] for n in (4, 5))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (CallError("wrong"), CallError),
        (DataError("bad"), DataError),
        (MachineError("broken"), MachineError),
        (PermissionError(13, "Permission denied", "photo.jpg"), MachineError),
    ],
)
def test_an_error_of_a_worker_is_raised_by_the_driver_as_what_it_is(error, kind, folder):
    with claimed(folder) as run, pytest.raises(kind, match=str(error.args[-1])):
        for_each(ThreadExecutor(1), run, "Square", range(3), Work(1, error), phase())


def test_after_a_repair_the_failure_of_the_earlier_step_is_forgotten(folder):
    with claimed(folder) as run:
        with pytest.raises(DataError):
            for_each(ThreadExecutor(1), run, "Square", [0], Work(0, DataError("bad")), phase())
        run.start()
        for_each(ThreadExecutor(1), run, "Square", [0], Work(), phase())


def test_a_failure_is_reported_by_host_and_stops_the_workers(folder):
    with claimed(folder) as run:
        fence = Fence(folder, run.token, is_remote=True)

        def fail(shown):
            shown.watch()
            fence.check()
            report_failure(OSError(5, "Input/output error"), fence)
            shown.watch()

        with pytest.raises(MachineError):
            watched(run, phase(), fail)
        with pytest.raises(StaleRunError, match="has ended"):
            fence.check()
        run.check()
        assert work_on(Work(), 1, folder, fence.token) == []
        assert Reports(folder, "squares").found() == [], "no other item is begun"
        with pytest.raises(MachineError, match=rf"Input/output error \(on {HOST}\)"):
            raise_failure(folder)


def test_a_worker_that_differs_from_the_driver_does_nothing_in_a_process_of_its_own(folder, monkeypatch):
    monkeypatch.setattr(driver_view, "_compared", {})
    with claimed(folder) as run:
        worker = pickle.loads(pickle.dumps(partial(Guard(folder, run.token, OTHER_PILLOW).call, Work())))  # noqa: S301
        assert list(worker(1)) == []
        assert Reports(folder, "squares").found() == []
        with pytest.raises(MachineError, match="would write other bytes than the driver"):
            raise_failure(folder)


def names_an_option(item, fence):
    del fence
    yield f"{item}: {named('max_side', 256)}"


def test_a_worker_in_a_process_of_its_own_writes_options_as_the_driver_does(folder):
    this_host = DriverView.of([])
    with claimed(folder) as run:
        for style in ("command", "python"):
            with written_as(style):
                pickled = pickle.dumps(partial(Guard(folder, run.token, this_host).call, names_an_option))
            with written_as("python"):
                found = list(pickle.loads(pickled)(1))  # noqa: S301
            assert found == ["1: --max-side 256" if style == "command" else "1: max_side=256"]


def test_workers_of_an_ended_run_do_nothing(folder):
    with claimed(folder) as run:
        token = run.token
    with claimed(folder):
        assert work_on(Work(0, DataError("bad")), 0, folder, token) == []
        raise_failure(folder)


class Stopping(ThreadExecutor):
    """An engine on which another run takes over."""

    def for_each(self, name, items, work, phase):
        super().for_each(name, items, work, phase)
        open_folder(items[0]).remove(".shardkit/run")
        raise MachineError("the runner failed: cancelled")


def test_a_run_that_was_replaced_says_so_and_not_what_the_engine_made_of_it(folder):
    with claimed(folder) as run, pytest.raises(StaleRunError, match="does not belong to this run any more"):
        for_each(Stopping(1), run, "Square", [folder.url], lambda *_: (), phase())
