r"""Which class, or which data set, each position draws from: fixed shares, kept over every stretch of 1,000 positions.

Random draws would miss a share of 10 % by 3 points in every third batch of 100; this schedule misses it by less than
one position in any 1,000 in a row, and is a pure function of the position.

Let P = 1,000 and share w_c of class c, the shares adding up to 1. P * w_c = a_c + f_c, a whole number and a fraction.

* Own slots: class c has a_c of the P slots of a period, the same in every period.
* Shared slots: the D = P - (sum of a_c) others. Lay the fractions f_c one after the other on a circle of length D. The
  n-th shared slot ever goes to the class on whose arc the point n * h mod D lies, where max f_c <= h <= 1.

Any P positions in a row hold every slot of the period once: the own slots of c, which are a_c, and D shared slots in a
row. The points of these stand h apart and go round the circle at most once, and no arc is longer than h: so each class
gets at most one. Its count is a_c or a_c + 1, and both are less than one away from P * w_c.

In integers: the circle has Q units, the arcs F_c with sum Q, the step H, coprime to Q. After Q shared slots each point
was met once, so the long-run shares are exactly those of the integers, and the whole repeats.

The slots of a period are dealt by Tijdeman's rule ("The chairman assignment problem", 1980: of those whose turn may
begin, the one whose turn must end first), so that any shorter stretch, one batch say, comes within three.

The period is no option: that a window of exactly P positions holds each slot once is the whole proof.
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
from shardkit.order.own_permutation import derived_seed
from shardkit.order.permutation import permute

_Ints = npt.NDArray[np.int64]

PERIOD = 1000
MAX_CIRCLE = 1 << 20  # points of the circle, 16 bytes each; finer shares than one in 10**9 / D are rounded
SHARED = -1
MAX_STEPS = 4096  # tried for one circle
PURPOSE = "order/schedule"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The tables of a schedule, made by `make_schedule`; C classes.

    Attributes:
        slots: int64[1000]; the class of each slot of a period, -1 where it is shared.
        shared_slots: int64[D], the slots that are shared, ascending.
        own: int64[C]; a_c, own slots in a period.
        own_keys: int64[1000 - D], class * 1000 + slot, ascending.
        own_starts: int64[C + 1]; class c has own_keys[own_starts[c]:own_starts[c + 1]].
        points: int64[Q]; the class that the n-th shared slot goes to. Q is 1 where none is shared.
        point_keys: int64[Q], class * Q + n, ascending.
        point_starts: int64[C + 1], as own_starts.
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
        """D, in a period."""
        return len(self.shared_slots)

    @property
    def num_classes(self) -> int:
        """C."""
        return len(self.own)

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """float64[C]; the long-run shares, which add up to 1."""
        arcs = np.diff(self.point_starts)
        return np.asarray((self.own + self.num_shared * arcs / len(self.points)) / PERIOD)


def make_schedule(weights: Sequence[float], *, seed: int) -> Schedule:
    """Make the schedule of some classes.

    Args:
        weights: one a class, at least 0, in any unit; a weight of 0 is never drawn. Decimal numbers are taken as they
            are written: 0.1 is one tenth. Only their proportions count.
        seed: 0 to 2**63 - 1, decides in which order classes take turns. In the order of their numbers a part of a batch
            would hold classes that stand side by side in the list, often those that look alike.

    Raises:
        CallError: a weight is negative or no number, or all are 0; or the seed is out of range.
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
    """Which class each position draws from, and how many positions before it drew from the same.

    Args:
        schedule: of C classes.
        positions: int64[n], 0 or more and below 2**62.

    Returns:
        int64[n] classes in [0, C), and int64[n] counts from 0: over all positions each class has each count once.

    Raises:
        CallError: a position is negative.
    """
    positions = np.asarray(positions, np.int64)
    if positions.size and positions.min() < 0:
        raise CallError(f"position {positions.min()} is negative; positions count from 0")
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
            raise CallError(f"weight {weight} of number {number} is no share; weights must be at least 0")
        # Through its shortest decimal: the binary value of 0.1 is a fraction of 2**55, and its circle would be rounded.
        exact.append(Fraction(str(weight)))
    total = sum(exact)
    if not total:
        raise CallError("no weight is above 0; give at least one class or data set a share")
    return [weight / total for weight in exact]


def _arcs(fractions: list[Fraction], num_shared: int) -> list[int]:
    """F_c: proportional to the fractions; exactly so where a circle of at most 2**20 units can, else the nearest."""
    common = math.lcm(*(fraction.denominator for fraction in fractions))
    arcs = [int(fraction * common) for fraction in fractions]
    divisor = math.gcd(*arcs) or 1
    if sum(arcs) // divisor <= MAX_CIRCLE:
        return [arc // divisor for arc in arcs]
    # Never rounded to nothing, and always to less than a whole slot, or no step would be long enough.
    unit = MAX_CIRCLE // num_shared
    ends = [int(end * unit) for end in accumulate(fractions, initial=Fraction(0))]
    return [min(unit - 1, max(b - a, int(f > 0))) for (a, b), f in zip(pairwise(ends), fractions, strict=True)]


def _walk(arcs: list[int], num_shared: int) -> _Ints:
    """The class of the n-th point, for n in [0, Q); C, which stands for none, where no slot is shared."""
    if not num_shared:
        return np.full(1, len(arcs), np.int64)
    # A finer circle has more steps, where none between the bounds is coprime to this one.
    units = 0
    while True:
        units += 1
        size = units * sum(arcs)
        least, most = units * max(arcs), size // num_shared
        # Half way between the bounds where there is room: next time round other classes come at the same slots.
        by_distance = sorted(range(least, min(most, least + MAX_STEPS) + 1), key=lambda h: abs(2 * h - least - most))
        steps = [h for h in by_distance if math.gcd(h, size) == 1]
        if steps:
            points = np.arange(size) * steps[0] % size
            return np.searchsorted(units * np.cumsum(arcs), points, side="right").astype(np.int64)


def _deal_slots(counts: list[int]) -> _Ints:
    """int64[1000]: Tijdeman's schedule of so many slots for each number, the counts adding up to 1,000."""
    slots = np.empty(PERIOD, np.int64)
    # Turn i of c may begin at i * P / count and must be over at (i + 1) * P / count, the slot's end rounded up.
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
    """Keys class * n + place of all places that have a class, ascending, and where in them each class begins."""
    size = len(classes)
    places = np.flatnonzero(classes != SHARED)
    keys = np.sort(classes[places] * size + places)
    return keys, np.searchsorted(keys, np.arange(num_classes + 1) * size)
