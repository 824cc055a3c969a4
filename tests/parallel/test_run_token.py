import contextlib
import platform
import threading
import time

import pytest

from shardkit.errors import MachineError, StaleRunError
from shardkit.parallel import run_token
from shardkit.parallel.run_token import Fence, Run, claimed
from shardkit.storage import TEMPORARY, open_folder
from shardkit.testing import files_of


@pytest.fixture
def folder(tmp_path):
    return open_folder(str(tmp_path))


def takes_over(folder):
    """Another run's driver writes its token."""
    return Run(folder).start()


def test_a_workers_token_is_good_until_its_run_ends(folder):
    with claimed(folder) as run:
        own, other = Fence(folder, run.token), Fence(folder, "other")
        own.check()
        with pytest.raises(StaleRunError):
            other.check()
        run.stop_workers()
        with pytest.raises(StaleRunError):
            own.check()
        run.check()
    with pytest.raises(StaleRunError):
        own.check()


def test_within_a_task_the_token_is_compared_every_few_seconds(folder, monkeypatch):
    with claimed(folder) as run:
        fence = Fence(folder, run.token)
        fence.check_sometimes()
    fence.check_sometimes()
    later = time.monotonic() + run_token.CHECK_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(StaleRunError):
        fence.check_sometimes()


@pytest.mark.parametrize("torn", [b"", b"{", b"[]", b'{"token": 1}'])
def test_a_torn_file_is_nobodys_token(torn, folder):
    with claimed(folder) as run:
        with folder.atomic_write(run_token.PATH) as file:
            file.write(torn)
        with pytest.raises(StaleRunError):
            Fence(folder, run.token).check()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, None])
def test_however_a_run_ends_its_file_goes_and_another_runs_stays(error, folder):
    def end(*, is_replaced):
        with contextlib.suppress(KeyboardInterrupt, RuntimeError), claimed(folder):
            if is_replaced:
                takes_over(folder)
            if error:
                raise error

    end(is_replaced=False)
    assert folder.stat(run_token.PATH) is None
    end(is_replaced=True)
    assert folder.stat(run_token.PATH) is not None


@pytest.mark.parametrize("fails", [MachineError, None])
def test_a_run_that_was_replaced_says_so_whatever_failed(fails, folder):
    def run_until_replaced():
        with claimed(folder) as run, run.checked():
            takes_over(folder)
            if fails:
                raise fails

    with pytest.raises(StaleRunError, match=f"it is that of another run, on host {platform.node()}"):
        run_until_replaced()


def test_a_finished_run_leaves_no_work_folder(folder):
    with claimed(folder) as run:
        fence = Fence(folder, run.token)
        with folder.atomic_write(".shardkit/inventory/a.arrow") as file:
            file.write(b"")
        run.finish()
        assert files_of(folder) == {}
        with pytest.raises(MachineError, match=platform.node()):
            fence.check()


def test_a_local_output_is_taken_from_a_dead_run_at_once(folder):
    takes_over(folder)
    with claimed(folder) as run:  # whoever held the lock is dead
        Fence(folder, run.token).check()


def test_in_an_object_store_a_live_run_is_refused_and_a_stale_one_replaced(s3_bucket, monkeypatch):
    folder = open_folder(f"{s3_bucket}/out")
    with claimed(folder) as first:
        before = set(files_of(folder))
        with pytest.raises(MachineError, match=rf"{platform.node()}, last heard of \d+ s ago"), claimed(folder):
            pytest.fail("two runs claim one output")
        assert set(files_of(folder)) == before
        monkeypatch.setattr(run_token, "STALE_SECONDS", 0)
        with claimed(folder) as second:
            with pytest.raises(StaleRunError):
                first.check()
            second.check()
            second.finish()
        assert files_of(folder) == {}
    with claimed(folder):
        pass


def test_a_driver_refreshes_its_file_until_it_is_replaced(s3_bucket, monkeypatch):
    monkeypatch.setattr(run_token, "HEARTBEAT_SECONDS", 0.05)
    folder = open_folder(f"{s3_bucket}/out")
    kind, written = type(folder), threading.Event()
    writing = kind.atomic_write

    def noting(self, path, **more):
        if threading.current_thread().name == "heartbeat":
            written.set()
        return writing(self, path, **more)

    monkeypatch.setattr(kind, "atomic_write", noting)
    before = set(threading.enumerate())  # other tests may have left theirs
    with claimed(folder) as run:
        assert written.wait(30)
        run.check()
        [beat] = [thread for thread in {*threading.enumerate()} - before if thread.name == "heartbeat"]
        # Not between the heartbeat's look and its write: at 20 beats a second they overlap, on a busy machine often. At
        # HEARTBEAT_SECONDS a run that is replaced has not written for STALE_SECONDS.
        with run._writing:
            other = takes_over(folder)
        beat.join(30)
        assert not beat.is_alive()
        Fence(folder, other).check()


@pytest.mark.parametrize("is_remote", [False, True], ids=["local", "s3"])
def test_what_is_refused_before_its_rename_never_appears(is_remote, folder, request):
    if is_remote:
        folder = open_folder(request.getfixturevalue("s3_bucket"))
    seen = []

    def refuse():
        seen.extend(entry.name for entry in folder.scan())
        raise StaleRunError

    with pytest.raises(StaleRunError), folder.atomic_write("a", before_rename=refuse) as file:
        file.write(b"whole")
    assert [name.startswith(TEMPORARY) for name in seen] == [True], "the file is whole by then: see run_token"
    assert folder.scan() == []
