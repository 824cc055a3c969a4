"""Sampling of classes in fixed shares.

Sampling is index arithmetic in front of the order. With ``natural`` sampling, position t is example(t) of the order.
With shares, the `schedule` gives the class of position t and the number of earlier draws from that class. This number
is a position in the class's own endless ``full`` order: every example of the class once, in keyed order, before any
example repeats, then all of them in another order. So example(t) remains a pure function of (seed, t), for any number
of workers and any start step.

There are no epochs over the whole data here: a rare class may repeat ten times before a frequent one is complete.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError, UnknownNameError
from shardkit.order import permutation
from shardkit.order.keyed_permutations import derived_seed, permute_ranges
from shardkit.order.schedule import Schedule, draw, make_schedule

_Ints = npt.NDArray[np.int64]
_Labels = npt.NDArray[np.int32] | npt.NDArray[np.int64]

CLASSES_PURPOSE = "order/class"
_CLASSES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ClassSampling:
    """The examples of each class, and the schedule of the classes.

    Attributes:
        schedule: Schedule of C classes.
        members: int64[N], the ids of class 0, then those of class 1, and so on; ascending within a class.
        starts: int64[C + 1]; the ids of class c are members[starts[c]:starts[c + 1]].
        rounds: Rounds of the network that permutes a class: enough for the smallest class that is drawn.
    """

    schedule: Schedule
    members: _Ints
    starts: _Ints
    rounds: int


def class_balanced(labels: _Labels, *, num_classes: int, seed: int) -> ClassSampling:
    """Sample all classes that have examples equally often.

    Args:
        labels: [N], the class of each example, in [0, num_classes).
        num_classes: C, at least 1.
        seed: 0 to 2**63 - 1.

    Raises:
        CallError: There are no examples, or an example has no class.
    """
    counts = _count(labels, num_classes)
    return _sampling(labels, np.minimum(counts, 1).astype(np.float64), seed)


def class_weighted(labels: _Labels, weights: Mapping[int, float], *, num_classes: int, seed: int) -> ClassSampling:
    """Sample classes in proportion to their weights.

    Args:
        labels: [N], the class of each example, in [0, num_classes).
        weights: Weight by class number, 0 or more, in any unit; classes without a weight are not drawn.
        num_classes: C, at least 1.
        seed: 0 to 2**63 - 1.

    Raises:
        CallError: An example has no class; a class does not exist, or has a weight but no examples; a weight is
            negative, or none is positive.
    """
    counts = _count(labels, num_classes)
    shares = np.zeros(num_classes)
    for number, weight in weights.items():
        if not 0 <= number < num_classes:
            raise CallError(f"class {number} has a weight, but classes go from 0 to {num_classes - 1}")
        if weight and not counts[number]:
            raise CallError(f"class {number} has weight {weight}, but no examples; remove it, or give it weight 0")
        shares[number] = weight
    return _sampling(labels, shares, seed)


def sampling_by_name(
    labels: _Labels, classes: Sequence[str], sampling: str | Mapping[str, float], seed: int
) -> ClassSampling:
    """Sample classes as the argument `sampling` of the reader says.

    Args:
        labels: [N], the class of each example, in [0, len(classes)).
        classes: Names of the classes in label order.
        sampling: "class_balanced", or weights by class name.
        seed: 0 to 2**63 - 1.

    Raises:
        UnknownNameError: The dataset has no such class.
        CallError: A class with a weight has no example, or no class has a weight.
    """
    if isinstance(sampling, str):
        return class_balanced(labels, num_classes=len(classes), seed=seed)
    label_of = {name: label for label, name in enumerate(classes)}
    counts = np.bincount(labels[labels >= 0], minlength=len(classes))
    for name, weight in sampling.items():
        if name not in label_of:
            raise unknown_class("sampling", name, classes)
        if weight and not counts[label_of[name]]:
            raise CallError(
                f"sampling gives {name!r} the weight {weight:g}, but none of the {len(labels):,} selected "
                f"examples is of this class; leave it out, or give it the weight 0"
            )
    if not any(sampling.values()):
        raise CallError(f"sampling must give a class a weight above 0; found {dict(sampling)!r}")
    weights = {label_of[name]: weight for name, weight in sampling.items()}
    return class_weighted(labels, weights, num_classes=len(classes), seed=seed)


def unknown_class(argument: str, name: str, classes: Sequence[str]) -> UnknownNameError:
    """Return the error for a class name that the dataset does not have."""
    return UnknownNameError(
        f"{argument} names the class {name!r}; the dataset has {', '.join(map(repr, classes[:_CLASSES_SHOWN]))}"
    )


def sample(positions: _Ints, sampling: ClassSampling, *, seed: int) -> tuple[_Ints, _Ints]:
    """Map positions of endless training to example ids.

    Args:
        positions: int64[n], each 0 or more and below 2**62.
        sampling: Sampling that was made with the same seed.
        seed: 0 to 2**63 - 1.

    Returns:
        int64[n] ids, and int64[n] numbers of earlier draws of the same example. Augmentation uses this number as the
        epoch, so that an example that repeats looks different.

    Raises:
        CallError: A position is negative.
    """
    classes, drawn = draw(sampling.schedule, positions)
    first = sampling.starts[classes]
    sizes = sampling.starts[classes + 1] - first
    epochs = drawn // sizes
    rounds, seed = sampling.rounds, derived_seed(seed, CLASSES_PURPOSE)
    within = permute_ranges(drawn % sizes, sizes, epochs, classes, seed=seed, rounds=rounds)
    return sampling.members[first + within], epochs


def _count(labels: _Labels, num_classes: int) -> _Ints:
    if not len(labels):
        raise CallError("there are no examples to sample from")
    least, most = int(labels.min()), int(labels.max())
    if least < 0:
        number = int(np.argmin(labels))
        raise CallError(f"example {number} has no class; select the others with `where`, or use sampling='natural'")
    if most >= num_classes:
        raise CallError(
            f"example {int(np.argmax(labels))} has class {most}, but classes go from 0 to {num_classes - 1}"
        )
    return np.bincount(labels, minlength=num_classes)


def _sampling(labels: _Labels, weights: npt.NDArray[np.float64], seed: int) -> ClassSampling:
    counts = np.bincount(labels, minlength=len(weights))
    members = np.argsort(labels, kind="stable")
    schedule = make_schedule(weights.tolist(), seed=seed)
    rounds = permutation.num_rounds(int(counts[weights > 0].min()))
    return ClassSampling(schedule, members, np.concatenate(([0], np.cumsum(counts))), rounds)
