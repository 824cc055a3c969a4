"""The S3 server of server.py as a process; its faults are set from here."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

SERVER = Path(__file__).with_name("server.py")


class S3Server:
    """The server in a separate process during a `with` block."""

    def __enter__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([sys.executable, str(SERVER)], **pipes, env=dict(os.environ), text=True)
        self._faults = []
        self.url = self._process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def fail(self, pattern, *, after=0, times=None, every=1, **effect):
        """Make requests fail from now on, besides those that fail already.

        Args:
            pattern: Regular expression, searched in `METHOD path?query`, percent-decoded, with ` copy` at its end for
                copies within the store. An object is uploaded under a temporary name, and gets its own by a copy.
            after: Number of requests with the pattern that succeed first.
            times: Maximum number of requests that fail; None for all.
            every: 3 for every third of these requests.
            effect: `status` and S3's `code` of the answer, or the `body` of an answer with status 200; `resets=True` to
                reset the connection when half of the request has arrived; `cuts=True` to reset it when half of the
                answer is sent; `seconds` before any of them, or before the right answer.
        """
        self._faults.append({"pattern": pattern, "after": after, "times": times, "every": every, "effect": effect})
        self._ask("/-/faults", self._faults)

    def recover(self):
        """Make no request fail any more."""
        self._faults = []
        self._ask("/-/faults", [])

    def num_failed(self):
        """Return the number of requests so far that failed, or were slow, on purpose."""
        return self._ask("/-/counts")

    def _ask(self, path, given=None):
        data = None if given is None else json.dumps(given).encode()
        with urllib.request.urlopen(f"{self.url}{path}", data) as answer:  # noqa: S310 - our own server
            return json.load(answer)
