"""Fetch the next examples of an input by one call of NumPy: order, reading, replacement, windows, flips, labels, seeds.

    place ─► example and epoch ─► columns of the index ─► records ─► columns of the examples
             (`order`)            (`places`, `windows`)   (`fetcher`; damage: `recovery`; a change: `sources`)

A fetch is a function of the seed and the place, so every number of workers, and every resumed training, gets the same
examples. Nothing here imports TensorFlow: what decodes an image is passed in. `table` has the examples of a split,
`memory` what is held of them.
"""

from shardkit.fetch.damaged_records import Skip

__all__ = ["Skip"]
