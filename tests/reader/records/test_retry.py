"""Batches are restarted where they failed: tiny datasets in place of a pipeline, and a script of what fails."""

import itertools
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from shardkit.reader.retry import retry_failed_steps

BATCHES_PER_STEP = 2
END = -1


class Scripted:
    """Six steps of two batches; batch n fails `fails[n]` times, or until it is looked at and in `found`."""

    def __init__(self, fails, found=()):
        self.fails, self.found = dict(fails), set(found)
        self.looked = Counter()

    def read(self, number):
        if self.fails.get(number, 0) > 0:
            self.fails[number] -= 1
            raise ValueError(f"batch {number} failed")
        return np.int64(number)

    def find_causes(self, step):
        self.looked[int(step)] += 1
        known = {number for number in self.found if number // BATCHES_PER_STEP == step}
        for number in known:
            self.fails[number] = 0
        return np.int64(len(known))

    def dataset(self, first_step=0):
        def batches(step):
            numbers = tf.data.Dataset.range(step * BATCHES_PER_STEP, 12)
            return numbers.map(lambda number: tf.numpy_function(self.read, [number], tf.int64)).prefetch(3)

        return retry_failed_steps(
            tf.data.Dataset.from_tensors(tf.constant(first_step, tf.int64)),
            batches,
            lambda step: tf.numpy_function(self.find_causes, [step], tf.int64),
            lambda batch, _: batch,
            6,
            BATCHES_PER_STEP,
        )


def given(iterator, limit=60):
    """What calls for a batch give until the end: numbers, and "error"."""

    def call():
        try:
            return int(next(iterator, END))
        except tf.errors.OpError:
            return "error"

    return list(itertools.islice(iter(call, END), limit))


FOREVER = 10**6
EVERY = list(range(12))


@pytest.mark.parametrize(
    ("fails", "found", "expected"),
    [
        ({}, [], EVERY),
        ({5: FOREVER}, [5], EVERY),  # an image that does not decode
        ({0: FOREVER, 1: FOREVER, 11: FOREVER}, [0, 1, 11], EVERY),
        ({2: 1}, [], EVERY),  # for no known reason, once: nobody is troubled
        ({2: 1, 3: FOREVER, 7: 1, 9: FOREVER}, [3, 9], EVERY),  # and the protection is back after it
        ({2: 2}, [], [0, 1, "error", *EVERY[2:]]),  # asked again, it goes on where it failed
        ({4: FOREVER}, [4, 5], EVERY),
    ],
)
def test_each_batch_is_given_once_and_in_order(fails, found, expected):
    assert given(iter(Scripted(fails, found).dataset())) == expected


def test_what_always_fails_is_raised_each_time_and_nothing_after_it_is_given():
    scripted = Scripted({6: FOREVER})
    assert given(iter(scripted.dataset(2)), limit=8) == [4, 5] + ["error"] * 6


def test_what_is_found_and_fails_all_the_same_is_raised():
    scripted = Scripted({6: FOREVER}, [7])
    assert given(iter(scripted.dataset()), limit=8) == [*range(6), "error", "error"]


def test_iterators_have_a_state_of_their_own():
    whole = Scripted({3: FOREVER, 8: FOREVER}, [3, 8]).dataset()
    first, second = iter(whole), iter(whole)
    pairs = [(int(next(first)), int(next(second))) for _ in EVERY]
    assert pairs == [(number, number) for number in EVERY]


def test_an_error_of_looking_is_raised_again_and_again():
    scripted = Scripted({3: FOREVER})

    def refuse(step):
        raise ValueError(f"step {step} is over the budget")

    scripted.find_causes = refuse
    iterator = iter(scripted.dataset())
    assert given(iterator, limit=5) == [0, 1, 2, "error", "error"]
    with pytest.raises(tf.errors.OpError, match="step 1 is over the budget"):
        next(iterator)


class Together(Scripted):
    """Up to three steps of one batch as one element, which is the list of their numbers."""

    def dataset(self):
        def read(first, count):
            return np.array([self.read(number) for number in range(first, min(first + count, 12))], np.int64)

        def batches(step, count):
            # Nothing is read ahead, which may or may not come to a step that fails: its failures are counted.
            firsts = tf.data.Dataset.range(step, 12, count)
            return firsts.map(lambda first: tf.numpy_function(read, [first, count], tf.int64))

        return retry_failed_steps(
            tf.data.Dataset.from_tensors(tf.constant(0, tf.int64)),
            batches,
            lambda step: tf.numpy_function(lambda step: np.int64(0), [step], tf.int64),
            lambda batch, _: batch,
            12,
            1,
            3,
        ).unbatch()


@pytest.mark.parametrize(
    ("fails", "expected"),
    [
        ({}, EVERY),
        ({7: 1}, EVERY),
        ({7: 3}, [*range(7), "error", *EVERY[7:]]),  # those before it come, although they were read together
        ({10: FOREVER}, [*range(10), *["error"] * 5]),
    ],
)
def test_steps_that_are_read_together_fail_alone(fails, expected):
    assert given(iter(Together(fails).dataset()), limit=max(12, len(expected)))[: len(expected)] == expected
