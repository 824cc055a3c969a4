"""Decide what `splits` and `splits_of` mean for a source with splits of its own.

Without `splits_of` such a source is never split again: moving its test images into a new training split would be a
leak that nobody notices. With it, only the named splits are divided, and all others stay as they are.
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from shardkit.errors import CallError
from shardkit.naming import split_order
from shardkit.options.call import Change
from shardkit.options.groups import ConvertOptions
from shardkit.options.parsing import shares_text
from shardkit.options.values import NO_RULE, OWN_SPLITS
from shardkit.options.words import named
from shardkit.refusals import RefusalError

USUAL_SHARES = {"train": Fraction(9, 10), "validation": Fraction(1, 10)}  # what a hint suggests


def check_splits(own: Collection[str], options: ConvertOptions) -> None:
    """Refuse `splits` and `splits_of` that do not fit the source's own splits."""
    if options.splits.splits is None:
        return
    names = split_order(set(own))
    if not options.splits.splits_of:
        if own:
            shares = named("splits") if options.appended_to is None else "the dataset's shares"
            problem = f"the source has its own splits ({', '.join(names)}), and {shares} would mix them"
            if len(names) == 1:
                problem = (
                    f"the source already has the split {names[0]!r}; use {named('splits_of', names[0])} to divide it"
                )
            raise RefusalError(problem, _readings(names, options.splits.splits))
        return
    if not own:
        msg = f"the source has no splits of its own, so {named('splits_of')} has nothing to divide"
        if options.appended_to is None:
            raise RefusalError(msg, [Change("divide all images", {"splits_of": None})])
        anew = {"splits_of": None, "splits": shares_text(options.splits.splits)}  # without shares, the dataset's count
        all_train = Change("all images are train", {"splits_of": None, "splits": OWN_SPLITS})
        raise RefusalError(msg, [Change("divide all images", anew), all_train])
    unknown = [name for name in options.splits.splits_of if name not in own]
    if unknown:
        msg = f"{named('splits_of')} names the split {unknown[0]!r}; the source has {', '.join(names)}"
        if options.appended_to is not None:  # the dataset's rule, which the user did not give
            keep = {"splits": None, "splits_of": None}
            raise RefusalError(msg, [Change(f"keep {', '.join(names)} unchanged", keep)])
        raise CallError(msg)
    taken = [name for name in names if name in options.splits.splits and name not in options.splits.splits_of]
    if taken:
        problem = (
            f"{named('splits')} contains {taken[0]!r}, an existing split that "
            f"{named('splits_of', options.splits.splits_of)} does not list"
        )
        divided = [*options.splits.splits_of, *taken]
        changes = [
            *_dividing(options.splits.splits_of, names, options.splits.splits),
            _mixing(divided, options.splits.splits),
        ]
        raise RefusalError(problem, changes)


def groups_refusal(error: CallError, options: ConvertOptions) -> CallError:
    """Return the error about `group_by`; for the rule of a dataset that is appended to, with a change without it."""
    if options.appended_to is None or "group_by" in options.overruled:
        return error
    change = Change("append these images without groups", {"group_by": NO_RULE})
    return RefusalError(f"{error} (the rule of the dataset)", [change])


def written_splits(own: Collection[str], options: ConvertOptions) -> list[str]:
    """Return the names of the splits that are written, in order; see `check_splits`."""
    if options.splits.splits is None:
        return split_order(set(own)) or ["train"]
    return split_order({*set(own).difference(options.splits.splits_of), *options.splits.splits})


def _readings(own: list[str], wanted: Mapping[str, Fraction]) -> list[Change]:
    keep = Change(f"keep {', '.join(own)} unchanged", {"splits": None})
    largest = "train" if "train" in own else own[0]
    others = _dividing((largest,), own, wanted) if len(own) > 1 else []
    return [keep, *others, _mixing(own, wanted)]


def _dividing(divided: Sequence[str], own: list[str], wanted: Mapping[str, Fraction]) -> list[Change]:
    """Return the change that divides these splits only; none if all wanted splits exist already, or ten are new."""
    kept = [name for name in own if name not in divided]
    new = [name for name in wanted if name not in own]
    if not 0 < len(new) < 10:
        return []
    shares = {name: share for name, share in wanted.items() if name not in kept}
    if sum(shares.values()) != 1:  # tenths for the new splits, whatever the kept splits' shares were
        shares = {divided[0]: 1 - Fraction(len(new), 10), **dict.fromkeys(new, Fraction(1, 10))}
    meaning = f"divide {' and '.join(divided)}" + (f", keep {', '.join(kept)} unchanged" if kept else "")
    return [Change(meaning, {"splits_of": ",".join(divided), "splits": shares_text(shares)})]


def _mixing(divided: Sequence[str], wanted: Mapping[str, Fraction]) -> Change:
    names = split_order(set(divided))
    meaning = f"merge {', '.join(names)} and split again" if len(names) > 1 else f"divide {names[0]}"
    return Change(meaning, {"splits_of": ",".join(names), "splits": shares_text(wanted)})
