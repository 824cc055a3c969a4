"""Google Cloud Storage on this machine, for tests and benchmarks of gs://; see gcs_server."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

SERVER = Path(__file__).with_name("gcs_server.py")


class GcsEmulator:
    """The server in a process of its own, as long as the `with` block; a measured program shares no lock with it."""

    def __init__(self, root, *, latency_seconds=0.0, bytes_per_second=None):
        """Name what is served.

        Args:
            root: local folder; its folders are the buckets.
            latency_seconds: from the arrival of a request to the first byte of its answer.
            bytes_per_second: of the link that all answers' bodies share; None for no limit.
        """
        self._words = [sys.executable, str(SERVER), str(root), "--latency-seconds", str(latency_seconds)]
        if bytes_per_second is not None:
            self._words += ["--bytes-per-second", str(bytes_per_second)]

    def __enter__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(self._words, **pipes, text=True)
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
            of folders, `stats` of objects and buckets; `connections` opened; `most_at_once`, requests side by side.
        """
        address = self._environment["CLOUD_STORAGE_EMULATOR_ENDPOINT"]
        # No proxy: this process may have one for other things.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{address}/counts") as answer:
            return json.load(answer)
