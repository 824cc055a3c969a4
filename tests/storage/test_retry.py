import errno

import pytest

from shardkit.errors import MachineError
from shardkit.storage import os_errors_as, retry
from shardkit.storage.retry import is_transient, retried, retried_iterator


@pytest.fixture
def slept(monkeypatch):
    pauses = []
    monkeypatch.setattr(retry.time, "sleep", pauses.append)
    return pauses


class Flaky:
    """Fails so many times with an error, then succeeds."""

    def __init__(self, error, times):
        self.error, self.times, self.calls = error, times, 0

    def __call__(self):
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return "done"


def test_a_transient_error_is_retried_until_the_third_attempt(slept):
    action = Flaky(OSError(errno.ESTALE, "Stale file handle"), 2)
    assert retried(action) == "done"
    assert slept == list(retry.PAUSES_SECONDS)
    with pytest.raises(OSError, match="Stale"):
        retried(Flaky(OSError(errno.ESTALE, "Stale file handle"), 3))


@pytest.mark.parametrize(
    "error", [FileNotFoundError(2, "gone"), PermissionError(13, "no"), OSError(errno.ENOSPC, "full")]
)
def test_an_error_that_stays_is_not_retried(error, slept):
    action = Flaky(error, 1)
    with pytest.raises(type(error)):
        retried(action)
    assert (action.calls, slept) == (1, [])


def test_errors_of_object_stores_have_no_number_and_are_retried():
    assert is_transient(OSError("AWS Error SLOW_DOWN during GetObject"))


def test_a_sentence_about_an_error_is_as_transient_as_the_error():
    with pytest.raises(MachineError) as raised, os_errors_as("read", "/photos"):
        raise OSError(errno.EIO, "Input/output error")
    assert is_transient(raised.value)
    assert not is_transient(MachineError("this host does not see the folder"))


def test_an_iterator_goes_on_behind_the_items_it_has_yielded(slept):
    starts = []

    def start():
        starts.append(1)
        yield from range(3)
        if len(starts) < 3:
            raise OSError(errno.ETIMEDOUT, "timed out")
        yield 3

    assert list(retried_iterator(start)) == [0, 1, 2, 3]
    assert len(slept) == 2
