import contextlib
import threading
from types import SimpleNamespace

import pytest

from shardkit.verification import threads
from shardkit.verification.threads import ThreadChecker


class Job:
    """Checks shards one by one, when the test lets it."""

    def __init__(self):
        self.checked, self.may_go_on = [], threading.Semaphore(0)

    def check(self, shard):
        assert self.may_go_on.acquire(timeout=30)
        self.checked.append(shard.num_examples)
        return shard.num_examples


def shards(*counts):
    return [SimpleNamespace(num_examples=count) for count in counts]


def test_the_results_are_in_the_order_of_the_shards_and_progress_counts_their_examples(monkeypatch):
    monkeypatch.setattr(threads, "POLL_SECONDS", 0.01)
    job, totals, shown = Job(), [], []

    @contextlib.contextmanager
    def progress(total):
        totals.append(total)

        def show(done):
            shown.append(done)
            job.may_go_on.release()

        yield show

    assert ThreadChecker(2, progress).check_shards(job, shards(5, 1, 7)) == [5, 1, 7]
    assert totals == [13]
    assert shown[0] == 0
    assert shown == sorted(shown)
    assert set(shown) <= {0, 1, 5, 6, 7, 8, 12, 13}


def test_after_ctrl_c_no_further_shard_is_begun(monkeypatch):
    monkeypatch.setattr(threads, "POLL_SECONDS", 0.01)
    job = Job()

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ThreadChecker(1, lambda _: contextlib.nullcontext(interrupted)).check_shards(job, shards(1, 2, 3))
    for _ in range(3):
        job.may_go_on.release()
    for thread in threading.enumerate():
        if thread.name.startswith("verify"):
            thread.join(30)
    assert job.checked in ([], [1])
