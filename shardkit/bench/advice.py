"""From measurements to what binds, what other options would give, and how many hosts feed a rate. Pure functions."""

import math
import statistics
from dataclasses import dataclass
from typing import Literal

from shardkit.bench.measurements import Measurement, round_ratios
from shardkit.bench.trials import Kind
from shardkit.host import Host

# What a gain is computed from: the CPU time of an image, if the CPU binds, or images a second.
Figure = Literal["cpu", "rate"]

MIN_GAIN = 1.1  # smaller ones are within the noise of short measurements
FULL_SHARE = 0.8  # of the cores: above this share, the CPU binds
SLOWER_COLD = 0.8  # of the warm rate: below this share, the storage binds
STORAGE_RATIO = 1.25  # reading alone is at most this much faster than the whole: reading binds
NOTABLE_CORES = 0.25  # other programs that use fewer are not worth a word
ROUNDS_AGREEING = 0.75  # of the rounds have to show a gain in images a second


@dataclass(frozen=True, slots=True)
class Price:
    """What a stage costs for each image.

    Attributes:
        stage: Name of the stage.
        cpu_us: CPU time, microseconds.
        share: Share of the CPU time of all stages, 0 to 1.
    """

    stage: str
    cpu_us: float
    share: float


@dataclass(frozen=True, slots=True)
class Advice:
    """What an option gives.

    Attributes:
        name: What was tried.
        argument: What to write.
        kind: "convert" for options of the conversion, "reader" for an argument of the reader.
        gain: Factor by which images a second grow.
        figure: What the gain was computed from.
        images_per_second: The expected rate of the input function as it is, times the gain.
        bytes_per_image: Mean size of a record; None if it stays the same.
        trial: The measurement.
        base: The measurement that it was compared with.
    """

    name: str
    argument: str
    kind: Kind
    gain: float
    figure: Figure
    images_per_second: float
    bytes_per_image: float | None
    trial: Measurement
    base: Measurement

    @property
    def helps(self) -> bool:
        """Whether the gain is more than noise."""
        if self.gain < MIN_GAIN:
            return False
        if self.figure == "cpu":
            return True
        ratios = round_ratios(self.base, self.trial)
        return sum(ratio > 1 for ratio in ratios) >= ROUNDS_AGREEING * len(ratios)


def prices(read: Measurement, decode: Measurement, pixels: Measurement, whole: Measurement) -> list[Price]:
    """Return the price of each stage, in the order in which an image passes them.

    Args:
        read: Reading records.
        decode: Decoding images in memory.
        pixels: The same, with resizing and casting.
        whole: The input function. What it takes above the others is order, annotations and batches.
    """
    found = {
        "reading": read.cpu_us,
        "decoding": decode.cpu_us,
        "resizing": max(0.0, pixels.cpu_us - decode.cpu_us),
        "batches and the rest": max(0.0, whole.cpu_us - read.cpu_us - max(pixels.cpu_us, decode.cpu_us)),
    }
    total = sum(found.values())
    return [Price(stage, cpu, cpu / total if total else 0.0) for stage, cpu in found.items()]


def cpu_binds(read: Measurement, whole: Measurement, host: Host) -> bool:
    """Return whether the cores are full, so that only a smaller price of an image gives more images.

    If it takes other programs to fill them, the input function may be waiting for its storage as well. Reading alone
    that is hardly faster than the whole tells.
    """
    if whole.cores >= FULL_SHARE * host.cores:
        return True
    others = whole.other_cores if host.is_whole and whole.other_cores is not None else 0.0
    return whole.cores + others >= FULL_SHARE * host.cores and not _reading_binds(read, whole)


def _reading_binds(read: Measurement, whole: Measurement) -> bool:
    return read.images_per_second < STORAGE_RATIO * whole.images_per_second


def storage_binds(warm: Measurement, cold: Measurement, host: Host) -> bool:
    """Return whether the input function waits for its storage when the page cache is empty: the cores have to be idle.

    Args:
        warm: The input function with a warm page cache.
        cold: The same with an empty one.
        host: This host.
    """
    busy = cold.cores + ((cold.other_cores or 0.0) if host.is_whole else 0.0)
    return cold.images_per_second < SLOWER_COLD * warm.images_per_second and busy < FULL_SHARE * host.cores


def what_binds(found: list[Price], read: Measurement, whole: Measurement, host: Host) -> str:
    """Return what holds the input function back, as the end of a sentence."""
    if cpu_binds(read, whole, host):
        largest = max(found, key=lambda price: price.cpu_us)
        return f"{largest.stage} ({largest.share:.0%} of the CPU time)"
    cores = f"{whole.cores:.1f} of {host.cores:g} cores are used"
    if _reading_binds(read, whole):
        return f"reading: the storage gives {read.images_per_second:,.0f} images/s; {cores}"
    return f"a step that runs on one core, such as making batches; {cores}"


def expected_rate(read: Measurement, whole: Measurement, host: Host) -> float:
    """Return the images a second that this host gives while no other program runs.

    It is the measured rate, unless other programs had cores that the input function would have used: then these cores
    divided by the CPU time of an image.
    """
    others = whole.other_cores or 0.0
    if others < NOTABLE_CORES or not host.is_whole or not cpu_binds(read, whole, host):
        return whole.images_per_second
    return max(whole.images_per_second, 1e6 * min(host.cores, whole.cores + others) / whole.cpu_us)


def gain(base: Measurement, trial: Measurement, figure: Figure) -> float:
    """Return how many times as fast the trial is.

    By CPU time where the CPU binds: a rate changes with the load of other programs, and a trial with more threads takes
    cores from them; the CPU time of an image hardly changes. Otherwise by the median ratio of the rates of each round.
    """
    if figure == "cpu":
        return base.cpu_us / trial.cpu_us
    return statistics.median(round_ratios(base, trial))


def hosts_for(target: float, images_per_second: float) -> int:
    """Return the number of hosts that together give `target` images a second."""
    return math.ceil(target / images_per_second)


def sorted_advice(found: list[Advice]) -> tuple[list[Advice], list[Advice]]:
    """Return what helps, the largest gain first, and what does not, in order."""
    helpful = sorted((one for one in found if one.helps), key=lambda one: -one.gain)
    return helpful, [one for one in found if not one.helps]
