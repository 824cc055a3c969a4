import pickle
from functools import partial

import pytest
from shardkit.pipelines.first_failure import UntilFirstFailure

from shardkit.errors import MachineError
from shardkit.parallel.driver_view import DriverView
from shardkit.storage import open_folder

OTHER_PILLOW = DriverView((("pillow", "0.1"),), ())


def note(number, folder, fails):
    """A worker's work: a file for each element."""
    (folder / str(number)).touch()
    if number == fails:
        raise PermissionError(13, "Permission denied", "photo.jpg")


def workers(tmp_path, driver=None, fails=None):
    """The function as each worker gets it, in a process of its own."""
    (tmp_path / "done").mkdir()
    view = driver or DriverView.of([])
    work = UntilFirstFailure(partial(note, folder=tmp_path / "done", fails=fails), open_folder(str(tmp_path)), view)
    return pickle.loads(pickle.dumps(work)), work  # noqa: S301 - as Beam does


def done(tmp_path):
    return sorted(path.name for path in (tmp_path / "done").iterdir())


def test_without_a_failure_every_element_is_done_and_nothing_is_raised(tmp_path):
    worker, driver = workers(tmp_path)
    for number in range(3):
        worker(number)
    driver.raise_failure()
    assert done(tmp_path) == ["0", "1", "2"]


def test_after_a_failure_no_worker_begins_another_element_and_the_driver_gets_the_sentence(tmp_path):
    worker, driver = workers(tmp_path, fails=1)
    for number in range(3):
        worker(number)
    assert done(tmp_path) == ["0", "1"]
    with pytest.raises(MachineError, match="Permission denied"):
        driver.raise_failure()


def test_a_worker_that_differs_from_the_driver_does_nothing(tmp_path):
    worker, driver = workers(tmp_path, OTHER_PILLOW)
    worker(0)
    assert done(tmp_path) == []
    with pytest.raises(MachineError, match="would write other bytes than the driver"):
        driver.raise_failure()
