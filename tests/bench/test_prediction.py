"""The gain that `bench` predicts for `--resize` is the gain after converting with it."""

import json
import os
import sys
from dataclasses import replace

import pytest

from shardkit.bench.preparing import prepared
from shardkit.bench.running import run
from shardkit.bench.settings import BenchSettings
from shardkit.bench.workers import measure_in_turn, processes, running

from ..cli.calling import convert


@pytest.mark.slow
def test_the_predicted_gain_of_resize_is_within_15_percent_of_the_gain_after_doing_it(photographs, tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    convert(photographs, before, "--quiet")
    convert(photographs, after, "--quiet", "--resize", "256")
    settings = BenchSettings(str(before), seconds=float(os.environ.get("BENCH_SECONDS", "30")))

    [advice] = [one for one in run(settings).advice if one.name == "resize to 256"]

    with prepared(replace(settings, with_advice=False), lambda *_: None) as plan:
        specs = {"before": plan.base, "after": replace(plan.base, dataset=str(after))}
        with processes(specs) as started, running(started):
            done = measure_in_turn(started, rounds=7, min_rounds=7, seconds=settings.seconds / 2)
    # The CPU time of an image, which other programs on this host change least.
    predicted = advice.base.cpu_us / advice.trial.cpu_us
    gained = done["before"].cpu_us / done["after"].cpu_us
    figures = {name: measured.as_json() for name, measured in done.items()}
    sys.stderr.write(f"\npredicted {predicted:.3f}, gained {gained:.3f}: {json.dumps(figures)}\n")
    assert gained > 1.3, "photographs of 500 x 375 are that much larger than 256"
    assert predicted == pytest.approx(gained, rel=0.15)
