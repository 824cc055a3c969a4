"""A job goes on without the process that submitted it."""

import json
import sys
import time

from shardkit.testing import digests_of

from ..beam.crashing import nothing_left
from ..cli.calling import TIMEOUT_SECONDS, call

OPTIONS = ["--shards", "3", "--resize", "6"]
OWN_PROCESS = [
    "--environment_type=beam:env:harness_subprocess_python:v1",
    f"--environment_config={sys.executable} -m apache_beam.runners.worker.sdk_worker_main",
]


def wait_until(reached):
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_the_job_publishes_the_same_bytes_after_its_driver_has_left(source, by_default, job_service, tmp_path):
    output = tmp_path / "out"
    runner = ["--runner=PortableRunner", f"--job_endpoint={job_service}", *OWN_PROCESS]
    result = call("convert", source, output, *OPTIONS, "--no-wait", *runner)
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert "the engine has taken the job shardkit-" in result.stderr
    refused = call("convert", source, output, *OPTIONS)
    if refused.exit_code:  # the job has not ended yet
        assert (refused.exit_code, "a job that host" in refused.stderr) == (3, True), refused.output
    wait_until(lambda: (output / "manifest.json").exists() and nothing_left(output))
    assert digests_of(output) == digests_of(by_default)
    events = [json.loads(line)["event"] for line in (output / "run-log.jsonl").read_text().splitlines()]
    assert [one for one in events if one != "said"] == ["inventory", "plan", "write", "publish"]
