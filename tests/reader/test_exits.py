"""A program whose reading fails ends, with the reason, while other reads are in flight."""

import re
import subprocess
import sys

import pytest

from shardkit import read_manifest
from shardkit.fetch.table.records import load_table

from ..fetch.damaging import damage
from .training_fixtures import command, environment

TIMEOUT_SECONDS = 120


def run(words_of_all):
    """Run programs side by side, each in an interpreter of its own; their exit codes and what they wrote."""
    started = [
        subprocess.Popen([sys.executable, *words], env=environment(), stderr=subprocess.PIPE, text=True)
        for words in words_of_all
    ]
    try:
        written = [process.communicate(timeout=TIMEOUT_SECONDS)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    return [(process.returncode, text) for process, text in zip(started, written, strict=True)]


@pytest.mark.parametrize(
    ("orders", "rounds"), [(["block"], 1), pytest.param(["full", "block", "full"], 8, marks=pytest.mark.slow)]
)
def test_a_read_that_fails_ends_the_program(orders, rounds, copied):
    table = load_table(read_manifest(str(copied)), "train")
    damage(table, [250])
    for _ in range(rounds):  # three on fewer cores: threads of TensorFlow wait for the interpreter while it ends
        for code, text in run([command("failing_read.py", copied, order) for order in orders]):
            assert code == 1, text
            assert re.search(
                rf"{copied}/train-0\S+: record \d+, key .*: the CRC of the record's data does not", text
            ), text
