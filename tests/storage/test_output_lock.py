import subprocess
import sys

import pytest

from shardkit.errors import MachineError
from shardkit.storage import open_folder
from shardkit.storage.kernel_locks import locked

HOLDER = """
import sys, time
from shardkit.storage.kernel_locks import locked
from shardkit.storage import open_folder
with locked(open_folder(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of tmp_path."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_refused_with_the_reason(tmp_path, holder):
    with (
        pytest.raises(MachineError, match="another shardkit is writing into this folder"),
        locked(open_folder(str(tmp_path))),
    ):
        pytest.fail("both hold the lock")


def test_the_lock_is_released_when_its_process_is_killed(tmp_path, holder):
    holder.kill()
    holder.wait()
    with locked(open_folder(str(tmp_path))):
        pass


def test_the_lock_is_free_after_an_exception(tmp_path):
    folder = open_folder(str(tmp_path))
    with pytest.raises(RuntimeError), locked(folder):
        raise RuntimeError
    with locked(folder):
        pass


def test_threads_of_one_process_exclude_each_other_too(tmp_path):
    folder = open_folder(str(tmp_path))
    with locked(folder), pytest.raises(MachineError), locked(folder):
        pytest.fail("both hold the lock")


def test_a_missing_folder_is_created(tmp_path):
    with locked(open_folder(str(tmp_path / "new" / "out"))):
        assert (tmp_path / "new" / "out").is_dir()


def test_a_lock_file_removed_between_open_and_flock_is_not_held_by_two(tmp_path, monkeypatch):
    import fcntl

    folder = open_folder(str(tmp_path))
    flock = fcntl.flock

    def finished_meanwhile(file, how):
        monkeypatch.setattr(fcntl, "flock", flock)
        folder.remove_tree(".shardkit")  # what the holder does at its end, between our open and our flock
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", finished_meanwhile)
    with locked(folder), pytest.raises(MachineError), locked(folder):
        pytest.fail("both hold the lock")


def test_object_stores_have_no_lock_and_nothing_is_written(s3_bucket):
    folder = open_folder(f"{s3_bucket}/out")
    with locked(folder), locked(folder):
        assert folder.scan() == []
