import contextlib
import threading

import pytest

from shardkit.parallel.progress import Silent
from shardkit.parallel.threads import ThreadExecutor
from shardkit.storage import open_folder
from shardkit.verification import dataset as verifying
from shardkit.verification.dataset import CheckJob, check_shards
from shardkit.verification.shards import DatasetProblem, ShardCheck

pytestmark = pytest.mark.usefixtures("frequent_progress")


class Shard:
    """What is checked of a shard."""

    def __init__(self, num_examples):
        self.num_examples, self.num_bytes = num_examples, 100 * num_examples


class Manifest:
    """What a job asks of a manifest."""

    def plan_digest_of(self, shard):
        return ""


class Checking:
    """Checks shards one by one, when the test lets it."""

    def __init__(self, monkeypatch):
        self.checked, self.may_go_on = [], threading.Semaphore(0)
        monkeypatch.setattr(verifying, "check_shard", self.check)

    def check(self, _root, shard, *_, **__):
        assert self.may_go_on.acquire(timeout=30)
        self.checked.append(shard.num_examples)
        problems = [DatasetProblem("x", 3, "damaged")] if shard.num_examples == 7 else []
        return ShardCheck(problems, {1: 2}, shard.num_examples, shard.num_bytes)


class Listener(Silent):
    """Calls a function for the progress, and notes the totals of the phases."""

    def __init__(self, show):
        self.show, self.totals = show, []

    def phase(self, name, total):
        assert name == "verifying"
        self.totals.append(total)
        return contextlib.nullcontext(self.show)


@pytest.fixture
def job(tmp_path):
    return CheckJob(open_folder(str(tmp_path)), Manifest(), None, deep=False)


def test_the_results_are_in_the_order_of_the_shards_and_progress_counts_their_examples(job, monkeypatch):
    checking, shown, problems = Checking(monkeypatch), [], []

    def show(done, _, num_problems):
        shown.append(done)
        problems.append(num_problems)
        checking.may_go_on.release()

    listener = Listener(show)
    checks = check_shards(job, [Shard(5), Shard(1), Shard(7)], ThreadExecutor(2), listener)
    assert [check.num_examples for check in checks] == [5, 1, 7]
    assert checks[2] == ShardCheck([DatasetProblem("x", 3, "damaged")], {1: 2}, 7, 700), "as the worker found it"
    assert checking.checked[0] != 1, "the largest shards are begun first"
    assert listener.totals == [13]
    assert shown[0] == 0
    assert shown == sorted(shown)
    assert set(shown) <= {0, 1, 5, 6, 7, 8, 12, 13}
    assert (shown[-1], problems[0], problems[-1]) == (13, 0, 1)


def test_after_ctrl_c_no_further_shard_is_begun(job, monkeypatch):
    checking = Checking(monkeypatch)

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_shards(job, [Shard(1), Shard(2), Shard(3)], ThreadExecutor(1), Listener(interrupted))
    for _ in range(3):
        checking.may_go_on.release()
    for thread in threading.enumerate():
        if thread.name.startswith("verifying"):
            thread.join(30)
    assert checking.checked in ([], [3])
