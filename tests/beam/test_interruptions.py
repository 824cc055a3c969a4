"""Ctrl-C ends a job whatever Python, Beam and a runner do with the exception of its handler."""

import signal
import sys
import time

import pytest

from shardkit.beam import interruptions
from shardkit.beam.interruptions import TimeOverError, interruptible


@pytest.fixture(autouse=True)
def handlers(monkeypatch):
    """Ctrl-C raises KeyboardInterrupt, and the handlers and the timer of the caller are there again afterwards."""
    monkeypatch.setattr(interruptions, "TICK_SECONDS", 0.02)
    hook = sys.unraisablehook
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    alarm = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    assert signal.getsignal(signal.SIGALRM) is alarm
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert sys.unraisablehook is hook


class Finalised:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def lost():
    """Press Ctrl-C where Python ignores the exception of its handler."""
    one = Finalised()
    del one


def waits():
    time.sleep(30)
    raise AssertionError("nothing ended the job")


def lost_before_the_end():
    lost()


def lost_in_the_middle():
    lost()
    waits()


def taken_by_a_runner():
    signal.signal(signal.SIGINT, lambda *_: None)
    time.sleep(0.2)
    signal.raise_signal(signal.SIGINT)
    waits()


def swallowed_by_a_runner():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        waits()


def passed_on_as_an_error():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("KeyboardInterrupt [while running 'Work']") from None


@pytest.mark.parametrize("job", [lost_before_the_end, lost_in_the_middle, taken_by_a_runner, passed_on_as_an_error])
def test_ctrl_c_ends_the_job(job):
    with pytest.raises(KeyboardInterrupt), interruptible():
        job()


def test_ctrl_c_that_is_swallowed_is_raised_again_after_a_while(monkeypatch):
    monkeypatch.setattr(interruptions, "AGAIN_SECONDS", 0.05)
    with pytest.raises(KeyboardInterrupt), interruptible():
        swallowed_by_a_runner()


def test_ctrl_c_leaves_time_to_clean_up():
    cleaned = []

    def job():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            time.sleep(0.1)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt), interruptible():
        job()
    assert cleaned


def test_a_job_with_a_limit_of_time_ends_there():
    with pytest.raises(TimeOverError), interruptible(0.1):
        waits()


def test_ctrl_c_that_the_caller_ignores_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible():
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.1)
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is signal.SIG_IGN
