"""Google Cloud Storage on this machine, for tests and benchmarks of gs://; see server.py."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

SERVER = Path(__file__).with_name("server.py")


class GcsEmulator:
    """The server in a separate process during a `with` block, so that a measured program shares no lock with it."""

    def __init__(self, root, *, latency_seconds=0.0, bytes_per_second=None, page_size=1000):
        """Configure the server.

        Args:
            root: Local folder, whose folders are the buckets.
            latency_seconds: Time from the arrival of a request to the first byte of its response.
            bytes_per_second: Rate of the link that all response bodies share; None for no limit.
            page_size: Maximum number of names in a page of a listing; the store's own is 1000.
        """
        self._words = [sys.executable, str(SERVER), str(root), "--latency-seconds", str(latency_seconds)]
        self._words += ["--page-size", str(page_size)]
        if bytes_per_second is not None:
            self._words += ["--bytes-per-second", str(bytes_per_second)]

    def __enter__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        # PYTHONPATH, for PYTHONSAFEPATH keeps a program's own folder from sys.path.
        variables = os.environ | {"PYTHONPATH": str(SERVER.parent)}
        self._process = subprocess.Popen(self._words, **pipes, env=variables, text=True)
        self._environment = json.loads(self._process.stdout.readline())
        return self

    def __exit__(self, *_):
        self._process.communicate()  # closes its standard input, and waits

    def environment(self):
        """Return the variables with which TensorFlow and pyarrow of a child process use this server for gs://."""
        return dict(self._environment)

    def counts(self):
        """Return what was requested since the start.

        Returns:
            `requests` and `body_bytes` sent, in total; `reads` and `read_bytes` of objects' contents, `lists` of
            folders, `stats` of objects and buckets; `connections` opened; `most_at_once`, the largest number of
            simultaneous requests; `uploads` begun, `writes` and `written_bytes` of those finished, `copies` and
            `removals` of objects; `failed`, on purpose; and `unfinished` uploads.
        """
        return self._ask("/counts")

    def fail(self, pattern, *, status, times=None):
        """Make requests fail from now on; this replaces earlier faults.

        Args:
            pattern: Regular expression, searched in `METHOD path?query Content-Range`, percent-decoded. An object is
                sent under a temporary name, and gets its own name by a rewrite: `rewriteTo/.*/out/a`.
            status: Status of the response; 0 breaks the connection when half of the request has arrived.
            times: Maximum number of requests that fail; None for all.
        """
        self._ask("/faults", json.dumps([{"pattern": pattern, "status": status, "times": times}]).encode())

    def recover(self):
        """Make no request fail any more."""
        self._ask("/faults", b"[]")

    def _ask(self, path, data=None):
        address = self._environment["CLOUD_STORAGE_EMULATOR_ENDPOINT"]
        # No proxy: this process may have one for other things.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{address}{path}", data) as answer:
            return json.load(answer)
