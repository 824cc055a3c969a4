r"""The class, or the dataset of a mixture, of each position: fixed shares, exact over any 1,000 consecutive positions.

With random draws, every third batch of 100 would miss a share of 10 % by 3 points. This schedule misses it by less than
one position in any 1,000 consecutive ones, and is a pure function of the position.

Let P = 1,000 and w_c the share of class c; the shares add up to 1. P * w_c = a_c + f_c, an integer and a fraction.

* Own slots: class c has a_c of the P slots of a period, the same ones in every period.
* Shared slots: the other D = P - (sum of a_c). Put the fractions f_c one after the other on a circle of length D. The
  n-th shared slot, counted over all periods, goes to the class whose arc contains the point n * h mod D, where
  max f_c <= h <= 1.

Proof: any P consecutive positions contain every slot of the period once: the a_c own slots of c, and D consecutive
shared slots. The points of the latter are h apart and go round the circle at most once, and no arc is longer than h, so
each class gets at most one of them. Its count is a_c or a_c + 1, both less than one away from P * w_c.

In integers: the circle has Q units, the arcs are F_c with sum Q, and the step is H, coprime to Q. After Q shared slots
each point occurred once, so the long-run shares are exactly those of the integers, and the schedule repeats.

The slots of a period are assigned by Tijdeman's rule ("The chairman assignment problem", 1980: among the turns that may
begin, the one that must end first), so shorter ranges such as one batch are within three.

The period is not an option, because the proof needs windows of exactly P positions.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.order.keyed_permutations import derived_seed
from shardkit.order.permutation import checked_positions, permute

_Ints = npt.NDArray[np.int64]

PERIOD = 1000
MAX_CIRCLE = 1 << 20  # points of the circle, 16 bytes each; shares finer than one in 10**9 / D are rounded
SHARED = -1
MAX_STEPS = 4096  # steps tried for one circle
PURPOSE = "order/schedule"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The tables of a schedule for C classes, made by `make_schedule`.

    Attributes:
        slots: int64[1000]; the class of each slot of a period, -1 for a shared slot.
        shared_slots: int64[D]; the shared slots, ascending.
        own: int64[C]; a_c, the number of own slots in a period.
        own_keys: int64[1000 - D], class * 1000 + slot, ascending.
        own_starts: int64[C + 1]; class c has own_keys[own_starts[c]:own_starts[c + 1]].
        points: int64[Q]; the class of the n-th shared slot. Q is 1 if no slot is shared.
        point_keys: int64[Q], class * Q + n, ascending.
        point_starts: int64[C + 1]; as own_starts, for point_keys.
    """

    slots: _Ints
    shared_slots: _Ints
    own: _Ints
    own_keys: _Ints
    own_starts: _Ints
    points: _Ints
    point_keys: _Ints
    point_starts: _Ints

    @property
    def num_shared(self) -> int:
        """D, the number of shared slots in a period."""
        return len(self.shared_slots)

    @property
    def num_classes(self) -> int:
        """C, the number of classes."""
        return len(self.own)

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """The long-run shares, float64[C] with sum 1."""
        arcs = np.diff(self.point_starts)
        return np.asarray((self.own + self.num_shared * arcs / len(self.points)) / PERIOD)


def make_schedule(weights: Sequence[float], *, seed: int) -> Schedule:
    """Make a schedule.

    Args:
        weights: One weight per class, 0 or more, in any unit; a class with weight 0 is never drawn. Decimal numbers
            are taken as written: 0.1 is one tenth.
        seed: 0 to 2**63 - 1, decides the order in which classes take turns. In the order of their numbers, a worker's
            part of a batch would hold classes that are neighbours in the list, which often look alike.

    Raises:
        CallError: A weight is negative or not finite, all weights are 0, or the seed is out of range.
    """
    shares = _shares(weights)
    turns = permute(np.arange(len(shares)), num_examples=len(shares), seed=derived_seed(seed, PURPOSE))
    shares = [shares[c] for c in turns]
    own = [int(share * PERIOD) for share in shares]
    num_shared = PERIOD - sum(own)
    arcs = _arcs([share * PERIOD - whole for share, whole in zip(shares, own, strict=True)], num_shared)
    names = np.append(turns, SHARED)
    slots = names[_deal_slots([*own, num_shared])]
    points = names[_walk(arcs, num_shared)]
    own_keys, own_starts = _by_class(slots, len(shares))
    point_keys, point_starts = _by_class(points, len(shares))
    return Schedule(
        slots=slots,
        shared_slots=np.flatnonzero(slots == SHARED),
        own=np.diff(own_starts),
        own_keys=own_keys,
        own_starts=own_starts,
        points=points,
        point_keys=point_keys,
        point_starts=point_starts,
    )


def draw(schedule: Schedule, positions: _Ints) -> tuple[_Ints, _Ints]:
    """Return the class of each position, and the number of earlier positions with the same class.

    Args:
        schedule: Schedule of C classes.
        positions: int64[n], 0 or more and below 2**62.

    Returns:
        int64[n] classes in [0, C), and int64[n] counts, 0 or more: over all positions, each class has each count once.

    Raises:
        CallError: A position is negative.
    """
    positions = checked_positions(positions)
    periods, slot = positions // PERIOD, positions % PERIOD
    own, num_points = schedule.slots[slot], len(schedule.points)
    shared = periods * schedule.num_shared + np.searchsorted(schedule.shared_slots, slot)
    turns, point = shared // num_points, shared % num_points
    classes = np.where(own == SHARED, schedule.points[point], own)
    slots_before = np.searchsorted(schedule.own_keys, classes * PERIOD + slot) - schedule.own_starts[classes]
    first, stop = schedule.point_starts[classes], schedule.point_starts[classes + 1]
    points_before = np.searchsorted(schedule.point_keys, classes * num_points + point) - first
    return classes, periods * schedule.own[classes] + slots_before + turns * (stop - first) + points_before


def _shares(weights: Sequence[float]) -> list[Fraction]:
    exact = []
    for number, weight in enumerate(weights):
        if not math.isfinite(weight) or weight < 0:
            raise CallError(f"weight {weight} of number {number} is not valid; weights must be finite and at least 0")
        # Its shortest decimal, because the binary value of 0.1 is a fraction over 2**55, whose circle would be rounded.
        exact.append(Fraction(str(weight)))
    total = sum(exact)
    if not total:
        raise CallError("no weight is above 0; give at least one class or dataset a positive weight")
    return [weight / total for weight in exact]


def _arcs(fractions: list[Fraction], num_shared: int) -> list[int]:
    """Return F_c, proportional to the fractions: exactly if a circle of at most 2**20 units allows it, else rounded."""
    common = math.lcm(*(fraction.denominator for fraction in fractions))
    arcs = [int(fraction * common) for fraction in fractions]
    divisor = math.gcd(*arcs) or 1
    if sum(arcs) // divisor <= MAX_CIRCLE:
        return [arc // divisor for arc in arcs]
    # Never rounded to 0, and always to less than a whole slot, or no step would be long enough.
    unit = MAX_CIRCLE // num_shared
    ends = [int(end * unit) for end in accumulate(fractions, initial=Fraction(0))]
    return [min(unit - 1, max(b - a, int(f > 0))) for (a, b), f in zip(pairwise(ends), fractions, strict=True)]


def _walk(arcs: list[int], num_shared: int) -> _Ints:
    """Return the class of the n-th point for n in [0, Q), or C, which means none, if no slot is shared."""
    if not num_shared:
        return np.full(1, len(arcs), np.int64)
    # If no step between the bounds is coprime to the circle, a finer circle has more steps.
    units = 0
    while True:
        units += 1
        size = units * sum(arcs)
        least, most = units * max(arcs), size // num_shared
        # Prefer half way between the bounds, so that the next round has other classes at the same slots.
        by_distance = sorted(range(least, min(most, least + MAX_STEPS) + 1), key=lambda h: abs(2 * h - least - most))
        steps = [h for h in by_distance if math.gcd(h, size) == 1]
        if steps:
            points = np.arange(size) * steps[0] % size
            return np.searchsorted(units * np.cumsum(arcs), points, side="right").astype(np.int64)


def _deal_slots(counts: list[int]) -> _Ints:
    """Return Tijdeman's schedule, int64[1000]: number i has counts[i] of the slots; the counts add up to 1,000."""
    slots = np.empty(PERIOD, np.int64)
    # Turn i of c may begin at i * P / count and must end by (i + 1) * P / count, rounded up to the slot's end.
    waiting = sorted((i * PERIOD // n, -(-(i + 1) * PERIOD // n), c) for c, n in enumerate(counts) for i in range(n))
    ready: list[tuple[int, int]] = []
    position = 0
    for slot in range(PERIOD):
        while position < PERIOD and waiting[position][0] <= slot:
            heapq.heappush(ready, waiting[position][1:])
            position += 1
        slots[slot] = heapq.heappop(ready)[1]
    return slots


def _by_class(classes: _Ints, num_classes: int) -> tuple[_Ints, _Ints]:
    """Return the keys class * n + slot of all slots that have a class, ascending, and each class's first key."""
    size = len(classes)
    places = np.flatnonzero(classes != SHARED)
    keys = np.sort(classes[places] * size + places)
    return keys, np.searchsorted(keys, np.arange(num_classes + 1) * size)
