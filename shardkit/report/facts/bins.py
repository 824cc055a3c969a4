"""Histograms with logarithmic bins: they hold sides, bytes and ratios of any size in a few numbers."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LogBins:
    """Bins of equal ratio; values outside are counted in the first or last bin.

    Attributes:
        low: Lower edge of the first bin.
        num_octaves: Number of doublings from the first edge to the last.
        per_octave: Number of bins of each doubling.
    """

    low: float
    num_octaves: int
    per_octave: int

    @property
    def num(self) -> int:
        """Number of bins."""
        return self.num_octaves * self.per_octave

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """float64[num + 1], the edges of the bins."""
        edges: npt.NDArray[np.float64] = self.low * 2 ** (np.arange(self.num + 1) / self.per_octave)
        return edges

    def numbers(self, values: npt.NDArray[np.number]) -> npt.NDArray[np.int64]:
        """Return the number of the bin of each value."""
        ratios = np.maximum(values, self.low) / self.low
        numbers: Counts = np.clip(np.floor(np.log2(ratios) * self.per_octave), 0, self.num - 1).astype(np.int64)
        return numbers

    def count(self, values: npt.NDArray[np.number]) -> Counts:
        """Return int64[num], the number of values in each bin."""
        return np.bincount(self.numbers(values), minlength=self.num).astype(np.int64)

    def quantile(self, counts: Counts, share: float) -> float:
        """Return the geometric middle of the bin that holds a quantile; 0 without values."""
        total = int(counts.sum())
        if not total:
            return 0.0
        at = int(np.searchsorted(np.cumsum(counts), math.ceil(share * total) or 1))
        return float(self.low * 2 ** ((at + 0.5) / self.per_octave))


SIDES = LogBins(8, 11, 4)  # pixels: 8 to 16,384
BYTES = LogBins(16, 30, 16)  # 16 bytes to 16 GiB; quantiles are right within 4.4 %
ASPECTS = LogBins(2 ** (-3 - 1 / 16), 7, 8)  # width / height; squares are in the middle of a bin
BOX_SIDES = LogBins(1 / 256, 8, 4)  # square root of a box's share of its image


def occupied(counts: Counts, margin: int = 0) -> slice:
    """Return the bins from the first to the last that has values, and a margin; all bins without values."""
    found = np.flatnonzero(counts)
    if not len(found):
        return slice(0, len(counts))
    return slice(max(0, int(found[0]) - margin), min(len(counts), int(found[-1]) + 1 + margin))
