"""The run of a job whose driver has left lives as long as its workers do."""

import os
import re
import threading

import pytest

from shardkit.errors import MachineError, StaleRunError
from shardkit.parallel import detached, run_token
from shardkit.parallel.run_token import Fence, Run, claimed
from shardkit.storage import open_folder


@pytest.fixture
def left(tmp_path):
    """A run whose driver has left."""
    folder = open_folder(str(tmp_path))
    with claimed(folder) as run, run.left():
        pass
    return run


@pytest.fixture
def begun(left):
    """The same, when a task has begun."""
    with detached.kept_alive(Fence(left.folder, left.token)):
        pass
    return left


def test_a_job_that_waits_is_not_replaced_until_its_claim_is_removed(left, monkeypatch):
    monkeypatch.setattr(run_token, "STALE_SECONDS", 0)
    with pytest.raises(MachineError, match=r"submitted will write into this folder and waits.* remove (.*),") as waits:
        claimed(left.folder).__enter__()
    os.remove(re.search(r"remove (\S*),", str(waits.value))[1])
    with claimed(left.folder):
        pass
    with pytest.raises(StaleRunError):
        Fence(left.folder, left.token).check()


def test_the_run_outlives_its_driver_and_another_is_refused_until_it_is_stale(begun, monkeypatch):
    left = begun
    Fence(left.folder, left.token).check()
    with pytest.raises(MachineError, match=r"a job that host .* submitted is writing into this folder, last heard of"):
        claimed(left.folder).__enter__()
    monkeypatch.setattr(run_token, "STALE_SECONDS", 0)
    with claimed(left.folder) as other:
        other.check()


def test_a_run_whose_submission_fails_ends(tmp_path):
    folder = open_folder(str(tmp_path))
    with pytest.raises(MachineError), claimed(folder) as run, run.left():
        raise MachineError
    assert folder.stat(run_token.PATH) is None


def test_workers_renew_the_runs_file_while_they_work_and_nobody_else_does(left, monkeypatch):
    monkeypatch.setattr(detached, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(detached, "IDLE_SECONDS", 0.0)
    renewed, renew = threading.Event(), detached.renew

    def noting(*given):
        renew(*given)
        renewed.set()

    monkeypatch.setattr(detached, "renew", noting)
    before = left.folder.stat(run_token.PATH).mtime_ns
    with detached.kept_alive(Fence(left.folder, left.token)):
        assert renewed.wait(30)
    assert left.folder.stat(run_token.PATH).mtime_ns > before
    Fence(left.folder, left.token).check()


@pytest.mark.parametrize("is_remote", [False, True], ids=["local", "s3"])
def test_a_run_that_has_ended_or_is_replaced_is_not_renewed(is_remote, tmp_path, request):
    folder = open_folder(f"{request.getfixturevalue('s3_bucket')}/out" if is_remote else str(tmp_path))
    run = Run(folder)
    run.start()
    detached.renew(folder, run.token)
    other = Run(folder).start()
    detached.renew(folder, run.token)
    Fence(folder, other).check()
    folder.remove(run_token.PATH)
    with pytest.raises(FileNotFoundError):
        detached.renew(folder, run.token)
    assert folder.stat(run_token.PATH) is None
