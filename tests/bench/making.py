"""Measurements with the figures that a test needs."""

from shardkit.bench.measurements import Measurement, Slice
from shardkit.host import Host

HOST = Host(cores=4, memory_bytes=16 << 30)


def measurement(rate, cpu_us, *, others=0.0, rates=None):
    """Slices of a second at this rate, or at these rates, that take so much CPU time for each image."""
    found = rates or [rate] * 4
    return Measurement(tuple(Slice(round(one), 1.0, one * cpu_us / 1e6, others) for one in found))
