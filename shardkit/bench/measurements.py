"""Slices of a running measurement, and the figures that follow from them."""

import statistics
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slice:
    """A period in which one worker ran and the others were stopped.

    Attributes:
        images: Number of images that came out.
        seconds: Duration.
        cpu_seconds: User and system time of the worker's process since its previous slice.
        other_cores: Cores that other programs used meanwhile; None if the system does not tell.
    """

    images: int
    seconds: float
    cpu_seconds: float
    other_cores: float | None = None

    @property
    def images_per_second(self) -> float:
        """The rate of this slice."""
        return self.images / self.seconds


@dataclass(frozen=True, slots=True)
class Measurement:
    """The slices of one worker.

    A worker is stopped between its slices, so they are parts of one continuous run: CPU time over all of them divided
    by all images is exact even if a slice begins or ends in the middle of a batch.
    """

    slices: tuple[Slice, ...]

    @property
    def images_per_second(self) -> float:
        """The median rate."""
        return statistics.median(one.images_per_second for one in self.slices)

    @property
    def lowest(self) -> float:
        """The rate of the slowest slice."""
        return min(one.images_per_second for one in self.slices)

    @property
    def highest(self) -> float:
        """The rate of the fastest slice."""
        return max(one.images_per_second for one in self.slices)

    @property
    def cpu_us(self) -> float:
        """CPU time of an image in microseconds, over all slices."""
        return 1e6 * sum(one.cpu_seconds for one in self.slices) / sum(one.images for one in self.slices)

    @property
    def cores(self) -> float:
        """Cores used: CPU seconds divided by seconds."""
        return sum(one.cpu_seconds for one in self.slices) / sum(one.seconds for one in self.slices)

    @property
    def other_cores(self) -> float | None:
        """Cores that other programs used meanwhile, the median; None if unknown."""
        known = [one.other_cores for one in self.slices if one.other_cores is not None]
        return statistics.median(known) if known else None

    def as_json(self) -> dict[str, float | int | None]:
        """Return the figures by name."""
        return {
            "images_per_second": round(self.images_per_second, 1),
            "lowest": round(self.lowest, 1),
            "highest": round(self.highest, 1),
            "cpu_us_per_image": round(self.cpu_us, 1),
            "cores": round(self.cores, 2),
            "other_cores": None if self.other_cores is None else round(self.other_cores, 2),
            "slices": len(self.slices),
        }


def round_ratios(base: Measurement, other: Measurement) -> list[float]:
    """Return the rate of the other measurement divided by the base's, round by round.

    Slices of one round follow each other, so a load that other programs put on the host for seconds is in both.
    """
    pairs = zip(base.slices, other.slices, strict=False)
    return [b.images_per_second / a.images_per_second for a, b in pairs]
