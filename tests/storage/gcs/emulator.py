"""Google Cloud Storage on this machine, for tests and benchmarks of gs://; see server.py."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

SERVER = Path(__file__).with_name("server.py")


class GcsEmulator:
    """The server in a process of its own, as long as the `with` block; a measured program shares no lock with it."""

    def __init__(self, root, *, latency_seconds=0.0, bytes_per_second=None, page_size=1000):
        """Name what is served.

        Args:
            root: local folder; its folders are the buckets.
            latency_seconds: from the arrival of a request to the first byte of its answer.
            bytes_per_second: of the link that all answers' bodies share; None for no limit.
            page_size: names in an answer of a listing at most; the store's own is 1000.
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
        """The variables with which a child process's TensorFlow and pyarrow find this server, under gs://."""
        return dict(self._environment)

    def counts(self):
        """What was asked for since the start.

        Returns:
            `requests` in all, `body_bytes` sent in all; of these `reads` and `read_bytes` of objects' contents, `lists`
            of folders, `stats` of objects and buckets; `connections` opened; `most_at_once`, requests side by side;
            `uploads` begun and `writes` and `written_bytes` of those finished, `copies` and `removals` of objects;
            `failed` on purpose; and `unfinished`, the uploads that are not objects now.
        """
        return self._ask("/counts")

    def fail(self, pattern, *, status, times=None):
        """Let requests fail from now on, and none any more that failed before.

        Args:
            pattern: regular expression, looked for in `METHOD path?query Content-Range`, percents decoded. What is
                written has a temporary name while it is sent, and its own when it is rewritten: `rewriteTo/.*/out/a`.
            status: of the answer; 0 breaks the connection when half of the request has arrived.
            times: how many requests at most; None for all.
        """
        self._ask("/faults", json.dumps([{"pattern": pattern, "status": status, "times": times}]).encode())

    def recover(self):
        """Let no request fail any more."""
        self._ask("/faults", b"[]")

    def _ask(self, path, data=None):
        address = self._environment["CLOUD_STORAGE_EMULATOR_ENDPOINT"]
        # No proxy: this process may have one for other things.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{address}{path}", data) as answer:
            return json.load(answer)
