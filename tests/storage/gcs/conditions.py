"""Make the server slow and faulty, and count its requests."""

import re
import threading
import time


class Link:
    """A link with a rate in bytes a second; a response waits until those before it are sent."""

    def __init__(self, bytes_per_second):
        self._bytes_per_second, self._lock, self._free_at = bytes_per_second, threading.Lock(), 0.0

    def wait(self, num_bytes):
        if self._bytes_per_second is None:
            return
        with self._lock:
            now = time.monotonic()
            self._free_at = max(now, self._free_at) + num_bytes / self._bytes_per_second
            seconds = self._free_at - now
        time.sleep(seconds)


class Counts:
    NAMES = "requests body_bytes reads read_bytes lists stats connections most_at_once"
    WRITING_NAMES = "uploads writes written_bytes copies removals failed"

    def __init__(self):
        self._lock, self._at_once = threading.Lock(), 0
        self._numbers = dict.fromkeys([*self.NAMES.split(), *self.WRITING_NAMES.split()], 0)

    def add(self, **numbers):
        with self._lock:
            for name, number in numbers.items():
                self._numbers[name] += number

    def __enter__(self):
        with self._lock:
            self._numbers["requests"] += 1
            self._at_once += 1
            self._numbers["most_at_once"] = max(self._numbers["most_at_once"], self._at_once)

    def __exit__(self, *_):
        with self._lock:
            self._at_once -= 1

    def snapshot(self):
        with self._lock:
            return dict(self._numbers)


class Faults:
    """Requests that fail: those whose `METHOD path?query Content-Range`, decoded, contains a pattern."""

    def __init__(self):
        self._lock, self._given = threading.Lock(), []

    def set(self, given):
        """Set the faults: dicts with `pattern`, `status` (0 breaks the connection during the request) and `times`."""
        with self._lock:
            self._given = given

    def status(self, request):
        """Return the status with which a request fails; None if it does not fail."""
        with self._lock:
            for fault in self._given:
                if fault["times"] != 0 and re.search(fault["pattern"], request):
                    if fault["times"] is not None:
                        fault["times"] -= 1
                    return fault["status"]
        return None
