"""Sampling: shares for classes.

Index arithmetic in front of the order. With ``natural`` sampling position t is example(t) of the order. With shares,
the `schedule` names the class of position t, and how often it was drawn before; that count is a position of the class's
own endless ``full`` order: every example of the class once, in keyed order, before any comes again, and then in another
order. So example(t) remains a pure function of (seed, t), whatever the number of workers and the step begun at.

An epoch is no such thing here: while a rare class comes round ten times, a frequent one may not have come round once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.order import permutation
from shardkit.order.own_permutation import derived_seed, permute_each
from shardkit.order.schedule import Schedule, draw, make_schedule

_Ints = npt.NDArray[np.int64]
_Labels = npt.NDArray[np.int32] | npt.NDArray[np.int64]

CLASSES_PURPOSE = "order/class"


@dataclass(frozen=True, slots=True)
class ClassSampling:
    """Which examples each class has, and the schedule of the classes.

    Attributes:
        schedule: of C classes.
        members: int64[N], the ids of class 0, then those of class 1, …, ascending in each.
        starts: int64[C + 1]; class c has members[starts[c]:starts[c + 1]].
    """

    schedule: Schedule
    members: _Ints
    starts: _Ints

    @property
    def rounds(self) -> int:
        """Of the network that permutes a class: what its smallest class needs, of those that are drawn."""
        return permutation.num_rounds(int(np.diff(self.starts)[self.schedule.shares > 0].min()))


def class_balanced(labels: _Labels, *, num_classes: int, seed: int) -> ClassSampling:
    """Sample every class that has examples equally often.

    Args:
        labels: [N], the class of each example, in [0, num_classes).
        num_classes: C, at least 1.
        seed: 0 to 2**63 - 1.

    Raises:
        CallError: there are no examples, or one has no class.
    """
    counts = _count(labels, num_classes)
    return _sampling(labels, np.minimum(counts, 1).astype(np.float64), seed)


def class_weighted(labels: _Labels, weights: Mapping[int, float], *, num_classes: int, seed: int) -> ClassSampling:
    """Sample classes by their weights.

    Args:
        labels: [N], the class of each example, in [0, num_classes).
        weights: of classes, at least 0, in any unit; classes that are not named are not drawn.
        num_classes: C, at least 1.
        seed: 0 to 2**63 - 1.

    Raises:
        CallError: an example has no class; a class does not exist, or has a weight and no examples; no weight is above
            0, or one is below.
    """
    counts = _count(labels, num_classes)
    shares = np.zeros(num_classes)
    for number, weight in weights.items():
        if not 0 <= number < num_classes:
            raise CallError(f"class {number} has a weight, but classes go from 0 to {num_classes - 1}")
        if weight and not counts[number]:
            raise CallError(f"class {number} has weight {weight}, but no examples; leave it out, or weigh it 0")
        shares[number] = weight
    return _sampling(labels, shares, seed)


def sample(positions: _Ints, sampling: ClassSampling, *, seed: int) -> tuple[_Ints, _Ints]:
    """Map positions of endless training to example ids.

    Args:
        positions: int64[n], each 0 or more and below 2**62.
        sampling: made with the same seed.
        seed: 0 to 2**63 - 1.

    Returns:
        int64[n] ids, and int64[n] of how often each of these examples was drawn at earlier positions: what augmentation
        takes for the epoch, since an example that comes back is to look different.

    Raises:
        CallError: a position is negative.
    """
    classes, drawn = draw(sampling.schedule, positions)
    first = sampling.starts[classes]
    sizes = sampling.starts[classes + 1] - first
    epochs = drawn // sizes
    rounds, seed = sampling.rounds, derived_seed(seed, CLASSES_PURPOSE)
    within = permute_each(drawn % sizes, sizes, epochs, classes, seed=seed, rounds=rounds)
    return sampling.members[first + within], epochs


def _count(labels: _Labels, num_classes: int) -> _Ints:
    if not len(labels):
        raise CallError("there are no examples to sample from")
    least, most = int(labels.min()), int(labels.max())
    if least < 0:
        number = int(np.argmin(labels))
        raise CallError(f"example {number} has no class; leave out such examples, or use sampling='natural'")
    if most >= num_classes:
        raise CallError(
            f"example {int(np.argmax(labels))} has class {most}, but classes go from 0 to {num_classes - 1}"
        )
    return np.bincount(labels, minlength=num_classes)


def _sampling(labels: _Labels, weights: npt.NDArray[np.float64], seed: int) -> ClassSampling:
    counts = np.bincount(labels, minlength=len(weights))
    members = np.argsort(labels, kind="stable")
    return ClassSampling(make_schedule(weights.tolist(), seed=seed), members, np.concatenate(([0], np.cumsum(counts))))
