"""Read the records of ``block`` order ahead, window by window, neighbours by one request.

While a lane gives the records of one window, a thread reads its next one, so it holds at most two windows.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from shardkit.dataset.record_files import Found
from shardkit.order.training import BlockwiseOrder

_Ints = npt.NDArray[np.int64]
_Window = dict[int, Found]


class LaneRecords:
    """The records of the windows that one worker is in."""

    def __init__(self, order: BlockwiseOrder, read: Callable[[_Ints], list[Found]]) -> None:
        """Make an empty collection."""
        self._order, self._read, self._lanes = order, read, order.layout.lanes
        # By lane, and by the window's name.
        self._windows: dict[int, dict[int, Future[_Window]]] = {}
        self._following: dict[int, int] = {}  # the name of the next window in its lane
        self._lock, self._pool = threading.Lock(), ThreadPoolExecutor(self._lanes, thread_name_prefix="reading ahead")

    def read(self, ids: _Ints, windows: _Ints) -> list[Found]:
        """Return the records of examples; those of whole windows are read, and held until their lane has left them."""
        names = np.unique(windows).tolist()
        lanes = {name: name % self._order.num_examples % self._lanes for name in names}
        with self._lock:
            for name in names:
                self._keep_from(lanes[name], min(one for one in names if lanes[one] == lanes[name]))
                self._begin(lanes[name], name)
            found = {name: self._windows[lanes[name]][name] for name in names}
        records = {name: window.result() for name, window in found.items()}
        return [records[name][one] for one, name in zip(ids.tolist(), windows.tolist(), strict=True)]

    def _keep_from(self, lane: int, first: int) -> None:
        """Drop the windows that a lane has left."""
        windows = self._windows.setdefault(lane, {})
        for name in [name for name in windows if name < first]:
            del windows[name]
            self._following.pop(name, None)

    def _begin(self, lane: int, name: int) -> None:
        """Let threads read a window of a lane, and its next one."""
        if name not in self._following:  # a window has thousands of examples, of which each call gives some
            ids, self._following[name] = self._order.window(name)
            self._submit(lane, name, ids)
        self._submit(lane, self._following[name], None)

    def _submit(self, lane: int, name: int, ids: _Ints | None) -> None:
        windows = self._windows[lane]
        if name in windows:
            return
        try:
            windows[name] = self._pool.submit(self._read_window, name, ids)
        except RuntimeError:  # the interpreter exits
            windows[name] = Future()
            windows[name].set_result({})

    def _read_window(self, name: int, ids: _Ints | None) -> _Window:
        ids = self._order.window(name)[0] if ids is None else ids
        return dict(zip(ids.tolist(), self._read(ids), strict=True))
