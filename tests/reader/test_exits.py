"""A program whose reading fails ends, with the reason, while other reads are in flight."""

import re
import subprocess
import sys

import pytest

from shardkit import read_manifest
from shardkit.fetch.table.records import load_table

from ..fetch.damaging import damage
from .processes import PIPE, Process
from .training_fixtures import command, environment

TIMEOUT_SECONDS = 120


def start(words):
    """Start a program in an interpreter that has imported nothing."""
    return subprocess.Popen([sys.executable, *words], env=environment(), stderr=PIPE, text=True)


def start_forked(words):
    """Start a program in an interpreter that has imported TensorFlow."""
    return Process(words, environment(), stderr=PIPE)


def run(words_of_all, start):
    """Run programs side by side; their exit codes and what they wrote."""
    started = [start(words) for words in words_of_all]
    try:
        written = [process.communicate(timeout=TIMEOUT_SECONDS)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    return [(process.returncode, text) for process, text in zip(started, written, strict=True)]


@pytest.mark.parametrize(
    ("orders", "rounds", "start"),
    [(["block"], 1, start_forked), pytest.param(["full", "block", "full"], 8, start, marks=pytest.mark.slow)],
)
def test_a_read_that_fails_ends_the_program(orders, rounds, start, copied):
    table = load_table(read_manifest(str(copied)), "train")
    damage(table, [250])
    for _ in range(rounds):  # three on fewer cores: threads of TensorFlow wait for the interpreter while it ends
        for code, text in run([command("failing_read.py", copied, order) for order in orders], start):
            assert code == 1, text
            assert re.search(
                rf"{copied}/train-0\S+: record \d+, key .*: the CRC of the record's data does not", text
            ), text
