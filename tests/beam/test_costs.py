"""The table of time and cost on the page is worked out from the rates on the benchmarks' page."""

import re

import pytest

from ..pages import CHECKOUT

CORES, CLUSTER_CORES, PHOTOGRAPHS = 2, 64, 5_000
MEASURED = (CHECKOUT / "tests" / "benchmarks" / "README.md").read_text(encoding="utf-8")
PAGE = (CHECKOUT / "shardkit" / "beam" / "README.md").read_text(encoding="utf-8")
MILLIONS = (1, 10, 100)
REQUEST_SECONDS = 0.05


def seconds(row):
    """The wall time of a row of the benchmarks' page."""
    return float(re.search(rf"^\| {re.escape(row)} \| ([\d.]+) s", MEASURED, re.MULTILINE)[1])


def core_hours(row, millions):
    return seconds(row) * CORES / PHOTOGRAPHS * millions * 1e6 / 3600


def cells(row):
    """A row's cells as hours."""
    found = re.search(rf"^\| {re.escape(row)} \| (.*) \|$", PAGE, re.MULTILINE)[1].split(" | ")
    units = {"min": 1 / 60, "h": 1}
    return [float(cell.split()[0]) * units.get([*cell.split(), "h"][1], 1) for cell in found]


HEADER = "convert 5,000 photographs (539 MB), `--check header`"
DECODE = "the same with `--check decode`, which decodes every image first"
RESIZE = "the same with `--check header --resize 256`"
NUM_BYTES = 539e6 / PHOTOGRAPHS


@pytest.mark.parametrize(
    ("row", "hours"),
    [
        ("core-hours, `--check header`", lambda n: core_hours(HEADER, n)),
        ("core-hours, `--check decode` (default)", lambda n: core_hours(DECODE, n)),
        ("core-hours, `--check header --resize 256`", lambda n: core_hours(RESIZE, n)),
        ("64 cores, if files come fast enough (default)", lambda n: core_hours(DECODE, n) / CLUSTER_CORES),
        (
            "the same from storage that gives and takes 1 GB/s in all: two readings, one writing",
            lambda n: 3 * NUM_BYTES * n * 1e6 / 1e9 / 3600,
        ),
        ("object store, 50 ms an image, 64 worker slots", lambda n: 2 * REQUEST_SECONDS * n * 1e6 / 64 / 3600),
        ("object store, 50 ms an image, 1,024 worker slots", lambda n: 2 * REQUEST_SECONDS * n * 1e6 / 1024 / 3600),
    ],
)
def test_the_table_follows_from_the_measured_rates(row, hours):
    assert cells(row) == pytest.approx([hours(n) for n in MILLIONS], rel=0.1)
