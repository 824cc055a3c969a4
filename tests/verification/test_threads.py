import contextlib
import threading
from types import SimpleNamespace

import pytest
from shardkit.verification.threads import ThreadChecker

from shardkit.parallel.progress import Silent

pytestmark = pytest.mark.usefixtures("frequent_progress")


class Job:
    """Checks shards one by one, when the test lets it."""

    def __init__(self):
        self.checked, self.may_go_on = [], threading.Semaphore(0)

    def check(self, shard):
        assert self.may_go_on.acquire(timeout=30)
        self.checked.append(shard.num_examples)
        return SimpleNamespace(num_examples=shard.num_examples, problems=["damaged"] * (shard.num_examples == 7))


def shards(*counts):
    return [SimpleNamespace(num_examples=count, num_bytes=100 * count) for count in counts]


class Listener(Silent):
    """Calls a function for the progress, and notes the totals of the phases."""

    def __init__(self, show):
        self.show, self.totals = show, []

    def phase(self, name, total):
        assert name == "verifying"
        self.totals.append(total)
        return contextlib.nullcontext(self.show)


def test_the_results_are_in_the_order_of_the_shards_and_progress_counts_their_examples():
    job, shown, problems = Job(), [], []

    def show(done, _, num_problems):
        shown.append(done)
        problems.append(num_problems)
        job.may_go_on.release()

    listener = Listener(show)
    checks = ThreadChecker(2, listener).check_shards(job, shards(5, 1, 7))
    assert [check.num_examples for check in checks] == [5, 1, 7]
    assert job.checked[0] != 1, "the largest shards are begun first"
    assert listener.totals == [13]
    assert shown[0] == 0
    assert shown == sorted(shown)
    assert set(shown) <= {0, 1, 5, 6, 7, 8, 12, 13}
    assert (shown[-1], problems[0], problems[-1]) == (13, 0, 1)


def test_after_ctrl_c_no_further_shard_is_begun():
    job = Job()

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ThreadChecker(1, Listener(interrupted)).check_shards(job, shards(1, 2, 3))
    for _ in range(3):
        job.may_go_on.release()
    for thread in threading.enumerate():
        if thread.name.startswith("verifying"):
            thread.join(30)
    assert job.checked in ([], [3])
