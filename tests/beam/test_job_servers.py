"""Job servers that Beam starts end with the job, however it ends."""

import subprocess
import sys

import pytest
from apache_beam.runners.portability.job_server import JobServer, StopOnExitJobServer

from shardkit.beam.interruptions import interruptible
from shardkit.beam.progress import job_servers_ended


class Sleeping(JobServer):
    """A job server that is a process."""

    def start(self):
        self.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        return self.process

    def stop(self):
        self.process.kill()
        self.process.wait()


@pytest.mark.parametrize("end", [None, OSError, KeyboardInterrupt])
def test_a_job_server_ends_with_its_job_and_is_started_again_for_the_next_one(end):
    server = StopOnExitJobServer(Sleeping())
    for _ in range(2):
        try:
            with job_servers_ended(), interruptible():
                process = server.start()
                assert process.poll() is None
                if end is not None:
                    raise end
        except (OSError, KeyboardInterrupt):
            assert end is not None
        assert process.poll() is not None
