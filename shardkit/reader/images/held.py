"""Decode images into memory with TensorFlow's decoder, see `shardkit.fetch.memory.HeldPixels`."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit.fetch.memory import HeldPixels, hold
from shardkit.fetch.table.records import RecordTable
from shardkit.reader.arguments.images import Images
from shardkit.reader.images.decoding import decode, finish

_TOGETHER = 16  # images of a call, which the cores share
_Ids = npt.NDArray[np.int64]


def pixel_shape(table: RecordTable, image: Images) -> tuple[int, int, int] | None:
    """Return the shape of all stored images; None if they differ, or a window is not the whole image."""
    height, width = int(table.height[0]), int(table.width[0])
    is_one = bool((table.height == height).all() and (table.width == width).all())
    if not is_one or not image.crops.are_whole(table.height, table.width) or image.scaled_decoding:
        return None
    return None if image.is_padded else (height, width, image.channels)


def hold_pixels(table: RecordTable, image: Images) -> HeldPixels:
    """Return the decoded images of a table: as they are stored if they have one size, else resized and cast."""
    shape = pixel_shape(table, image)
    decoder = _Decoder(table, image, is_finished=shape is None)
    # Mirroring an image before it is resized may change its last bit.
    mirrors = shape is None or shape[:2] == tuple(image.size)
    made_of = f"pixels {image.channels} {mirrors}" if shape is not None else f"finished {image!r}"
    dtype = np.dtype(np.uint8) if shape is not None else tf.as_dtype(image.dtype).as_numpy_dtype
    return hold(
        table,
        lambda: HeldPixels(table, shape or (*image.size, image.channels), dtype, decoder.many, mirrors=mirrors),
        made_of,
    )


class _Decoder:
    """Decodes the images of a table, each in the same way every time."""

    def __init__(self, table: RecordTable, image: Images, *, is_finished: bool) -> None:
        self._image, self._is_finished = image, is_finished
        drawn = np.zeros((0, 0), np.float32)  # no window is random
        self._windows = image.crops.windows(table.height, table.width, drawn)
        # If all are of one kind, the graph has no branch for each image, which takes half a second to trace.
        self._is_png, self._is_one_kind = table.is_png, bool((table.is_png == table.is_png[0]).all())
        self._together = tf.function(self._decode_together, autograph=False)

    def many(self, parts: Iterator[tuple[_Ids, list[bytes]]]) -> Iterator[tuple[_Ids, npt.NDArray[Any]]]:
        """Yield the examples whose images decode, and their pixels."""
        for ids, encoded in parts:
            for first in range(0, len(ids), _TOGETHER):
                yield self._of_some(ids[first : first + _TOGETHER], encoded[first : first + _TOGETHER])

    def _of_some(self, ids: _Ids, encoded: list[bytes]) -> tuple[_Ids, npt.NDArray[Any]]:
        # The graph has operations for a fixed number of images.
        padding = _TOGETHER - len(ids)
        rows = np.append(ids, np.full(padding, ids[-1]))
        with tf.device("CPU:0"):
            try:
                pixels = self._together(
                    tf.constant(encoded + encoded[-1:] * padding),
                    tf.constant(self._windows[rows]),
                    tf.constant(self._is_png[rows]),
                )
                return ids, pixels.numpy()[: len(ids)]
            except tf.errors.OpError:
                found = dict[int, Any]()
                for example_id, data in zip(ids.tolist(), encoded, strict=True):
                    with contextlib.suppress(tf.errors.OpError):  # who reads it says what is wrong
                        is_png = bool(self._is_png[example_id])
                        one = self._decode(tf.constant(data), tf.constant(self._windows[example_id]), is_png)
                        found[example_id] = one.numpy()
        shape = (0, *self._image.size, self._image.channels)
        return np.array(list(found), np.int64), np.stack(list(found.values())) if found else np.zeros(shape)

    def _decode_together(self, encoded: Any, windows: Any, is_png: Any) -> Any:
        parts = (tf.unstack(one, _TOGETHER) for one in (encoded, windows, is_png))
        return tf.stack([self._decode(*row) for row in zip(*parts, strict=True)])

    def _decode(self, encoded: Any, window: Any, is_png: Any) -> Any:
        image = self._image
        is_png = bool(self._is_png[0]) if self._is_one_kind else is_png
        pixels = decode(encoded, window, is_png, image)
        return finish(pixels, None, image, window) if self._is_finished else pixels
