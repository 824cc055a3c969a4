"""What the tiny job finds out about workers; tests/parallel has how a worker that differs is refused."""

import pytest

from shardkit.doctor.workers import PROBES, Look, check_workers
from shardkit.errors import MachineError
from shardkit.parallel.run_token import Fence, Run
from shardkit.parallel.threads import ThreadExecutor
from shardkit.storage import open_folder
from shardkit.testing import write_class_folders


@pytest.fixture
def fence(tmp_path):
    """The fence of a worker in an output that the driver has made."""
    (tmp_path / "out").mkdir()
    output = open_folder(str(tmp_path / "out"))
    return Fence(output, Run(output).start())


def test_a_process_leaves_one_file_that_the_driver_sees(fence, tmp_path):
    look = Look(str(write_class_folders(tmp_path / "source", {"ant": 1})), None)
    for number in range(2):
        look(number, fence)
    assert len(fence.folder.scan(PROBES)) == 1


@pytest.mark.parametrize(
    ("num_bytes", "sentence"),
    [(5, "sees a file of 4 bytes, the driver a file of 5 bytes"), (None, "sees a file of 4 bytes, the driver no file")],
)
def test_a_worker_that_sees_another_file_is_named(num_bytes, sentence, fence, tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n")
    with pytest.raises(MachineError, match=sentence):
        Look(str(tmp_path / "table.csv"), num_bytes)(0, fence)
    Look(str(tmp_path / "table.csv"), 4)(0, fence)


def test_a_job_whose_workers_leave_nothing_in_the_drivers_output_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(Look, "__call__", lambda *_: None)
    source = write_class_folders(tmp_path / "source", {"ant": 1})
    check = check_workers(ThreadExecutor(1), str(source), str(tmp_path / "out"), 9, print)
    assert (check.status, "the driver sees no worker's file in OUTPUT" in check.sentence) == ("failed", True)
    assert not (tmp_path / "out").exists()


def test_the_first_problem_of_a_worker_is_the_check(tmp_path, monkeypatch):
    def failing(*_):
        raise PermissionError(13, "Permission denied", "/photos")

    monkeypatch.setattr(Look, "__call__", failing)
    source = write_class_folders(tmp_path / "source", {"ant": 1})
    check = check_workers(ThreadExecutor(1), str(source), str(tmp_path / "out"), 9, print)
    assert (check.status, "Permission denied" in check.sentence) == ("failed", True)
