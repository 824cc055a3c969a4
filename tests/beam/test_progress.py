import threading

import pytest

from shardkit.beam.progress import run_with_progress
from shardkit.parallel.progress import Phase, Silent


@pytest.mark.usefixtures("frequent_progress")
def test_a_poll_of_the_progress_that_fails_does_not_end_the_job():
    polled_twice, polls = threading.Event(), []

    class RunnerConfig:
        def run(self, *_):
            assert polled_twice.wait(30), "one failure ended the polling"

    def count():
        polls.append(1)
        if len(polls) == 1:
            raise OSError(5, "SlowDown")
        if len(polls) == 2:
            raise ValueError("a file with an unexpected name")
        polled_twice.set()
        return 1

    run_with_progress(RunnerConfig(), None, Phase(Silent(), "writing", 1, count))
    assert len(polls) >= 3
