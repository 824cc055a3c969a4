"""Answer the user's call: complete refusals with the call, and offer only what works.

A refusal names changes of the call. Before they are printed, each is planned on the listing, without decoding or
writing anything: one that would be refused itself, give one class or reject too many images is not offered; one that
loses images or a split says so. If each would be refused with another question, they are offered with the answers to
it. One that mixes the images of folders of splits, or takes these folders for classes, is offered only if no other
works. Where the changes give different numbers of classes, each says how many. One that reads the images without a file
that may hold their labels is not offered either, unless another one reads that file: its boxes would be lost, and the
result would look like a good dataset.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shardkit.errors import ShardkitError
from shardkit.naming import counted, printable, split_of_folder
from shardkit.options.call import Call, Change
from shardkit.options.groups import OPTIONS
from shardkit.options.values import AUTO_SCALE
from shardkit.options.words import named
from shardkit.refusals import Refusal, RefusalError, RefusedDataError
from shardkit.reject_reasons import BAD_PATH, NO_LABEL
from shardkit.sources.claims.claim import Claim
from shardkit.sources.folders.split_folders import are_splits, says_nothing, splits_of
from shardkit.storage import STORES

if TYPE_CHECKING:
    from shardkit.conversion.planning.plan import Plan

_MOST_OFFERED = 4
_MIN_KEPT = 0.9  # of the images: a change that keeps as many is not worse than one that keeps all
_PLACEHOLDERS = frozenset({"FILE", "FOLDER", "NAME"})  # words that stand for what only the user knows
# Options that change no split and no class: a change of these alone was planned when its finding was made.
_OF_THE_SAME_PLAN = frozenset({"accept", "background", "bit_depth", "max_rejected"})
_BLIND = frozenset({"unlabelled", "label_pattern"})
_BLIND_LAYOUTS = frozenset({"class-folders", "file-names", "unlabelled"})

Planned = Callable[[Change], "Plan"]


@contextmanager
def answering(call: Call, planned: Planned | None = None) -> Iterator[None]:
    """Complete the refusals of a call: who runs a call for the user runs it inside of this.

    Args:
        call: The user's call.
        planned: Function that plans the call with a change, without decoding; None if no change can be planned.

    Raises:
        RefusalError: A refusal, with the call and with changes that work.
    """
    try:
        yield
    except (RefusalError, RefusedDataError) as error:
        if error.call is None:
            error.call = call
            if planned is not None and error.refusal.changes:
                with _one_work_folder():
                    error.refusal = _checked(error.refusal, call, planned)
        raise


@contextmanager
def _one_work_folder() -> Iterator[None]:
    """Let all plans unpack into one folder, so that an archive is unpacked once and not for each change."""
    from shardkit.archives.unpacking import unpacking_once
    from shardkit.parallel.reports import work_folder

    with work_folder(None) as work, unpacking_once(work):
        yield


def _checked(refusal: Refusal, call: Call, planned: Planned) -> Refusal:
    """Return a refusal with the changes that work; if none works, it says what comes in the way of the first."""
    found = _planned_changes(refusal.changes, call, planned)
    if found and all(one.is_blind or _hides_a_file(one.change) for one in found):
        # A file may hold the labels, and its command asks which.
        answers = [one for one in _answered_twice(refusal.changes, planned) if not _is_blind(one)]
        found = [*_planned_changes(answers, call, planned), *found]
    if clean := [one for one in found if not one.mixed and one.num_examples]:
        found = [one for one in found if one in clean or one.num_examples is None]
    lost = _lost_labels(found)
    changes = _ranked([one for one in found if not one.unread.intersection(lost)])
    if lost:
        refusal = replace(refusal, remedy=_with_lost(refusal.remedy, min(lost, key=lambda claim: claim.path)))
    if changes or not refusal.changes or refusal.remedy:
        return replace(refusal, changes=changes)
    if answers := _answered_twice(refusal.changes, planned):
        found = _planned_changes(answers, call, planned)
        lost = _lost_labels(found)
        if changes := _ranked([one for one in found if not one.unread.intersection(lost)]):
            return replace(refusal, changes=changes)
    try:
        planned(refusal.changes[0])
    except (ShardkitError, OSError) as error:
        if not isinstance(error, RefusalError | RefusedDataError):
            return replace(refusal, changes=(), remedy=f"whichever is chosen, {error}")
        inner = error.refusal
        said = "; ".join(filter(None, (inner.problem, inner.remedy)))
        return replace(refusal, changes=(), remedy=f"whichever is chosen, {said}", appendix=inner.appendix)
    return replace(refusal, changes=(), remedy="arrange the files like one of the layouts in `shardkit help layouts`")


def _answered_twice(changes: Sequence[Change], planned: Planned) -> list[Change]:
    """Return the changes with those of the refusals that they meet: each answers two questions at once."""
    answers: list[Change] = []
    for change in changes:
        if _is_blind(change):
            continue
        try:
            planned(change)
        except (RefusalError, RefusedDataError) as error:
            answers += [
                replace(
                    one,
                    meaning=f"{change.meaning}; {one.meaning}",
                    options={**change.options, **one.options},
                    sources=one.sources or change.sources,
                )
                for one in error.refusal.changes
            ]
        except (ShardkitError, OSError):
            continue
    return answers


@dataclass(frozen=True)
class _Found:
    """What a changed call would give.

    Attributes:
        change: The change.
        num_examples: Number of its examples; None if it was not planned.
        splits: Names of its splits.
        num_classes: Number of its classes.
        mixed: The splits that folders in the paths of its examples mean, if it has none of them.
        claims: The files in SOURCE that may hold labels, and that it does not read.
        is_blind: Whether it says that the folders or the files' names are the labels, or that there are none.
    """

    change: Change
    num_examples: int | None = None
    splits: frozenset[str] = frozenset()
    num_classes: int = 0
    mixed: frozenset[str] = frozenset()
    claims: frozenset[Claim] = frozenset()
    is_blind: bool = False

    @property
    def unread(self) -> frozenset[Claim]:
        """The files that hold labels, as another layout or the user knows, and that it says not to read."""
        return self.claims if self.is_blind else frozenset()


def _planned_changes(changes: Sequence[Change], call: Call, planned: Planned) -> list[_Found]:
    """Return what the changes that work give."""
    found: list[_Found] = []
    for change in changes:
        if not _can_be_planned(change, call):
            found.append(_Found(change))
            continue
        try:
            plan = planned(change)
        except (ShardkitError, OSError) as error:
            found += _planned_changes(_accepting(change, error), call, planned)
            continue
        allowed = _allowing_rejects(change, plan, call)
        if (len(plan.classes) == 1 and not _confirms(change)) or allowed is None:
            continue
        change = allowed  # noqa: PLW2901 - the same, with the limit that it needs
        if change.options.get("layout") == "class-folders" and not _may_be_classes(plan.classes):
            continue
        names = frozenset(split.name for split in plan.splits)
        is_whole = call.changed(change).sources == call.sources
        claims = _unused(plan if is_whole else _on_whole(change, planned) or plan)
        mixed = frozenset[str]() if "splits" in change.options else _mixed_splits(plan)
        found.append(_Found(change, plan.num_examples, names, len(plan.classes), mixed, claims, _is_blind(change)))
    return found


def _accepting(change: Change, error: Exception) -> list[Change]:
    """Return a change that a finding stops, with the option that accepts the finding; none if nothing accepts it."""
    changes = error.refusal.changes if isinstance(error, RefusalError) and "accept" not in change.options else ()
    return [
        replace(change, meaning=f"{change.meaning}; {one.meaning}", options={**change.options, **one.options})
        for one in changes
        if "accept" in one.options
    ]


def _may_be_classes(names: Sequence[str]) -> bool:
    """Return whether folders may be classes: they are no splits, and not one folder around everything."""
    are_told_apart = len(names) > 1 and not all(map(says_nothing, names))
    return are_told_apart and not are_splits(names) and {*splits_of(names).values()} <= {"train"}


def _allowing_rejects(change: Change, plan: "Plan", call: Call) -> Change | None:
    """Return a change that allows its rejects, if these are records of a table without a label or a name; else None."""
    from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit, counted_rejects

    rejects = counted_rejects(plan.rejected)
    limit = RejectLimit.parse(call.changed(change).given.get("max_rejected", DEFAULT_MAX_REJECTED))
    if limit.allows(len(rejects), plan.source.num_files):
        return change
    is_of_records = "label_columns" in change.options and {NO_LABEL, BAD_PATH}.issuperset(rejects["reason"].to_pylist())
    if not is_of_records or len(rejects) >= plan.num_examples:
        return None
    meaning = f"{change.meaning}; without {counted(len(rejects), 'record')} without it or without an image"
    return replace(change, meaning=meaning, options={**change.options, "max_rejected": len(rejects)})


def _is_blind(change: Change) -> bool:
    return bool(_BLIND.intersection(change.options)) or change.options.get("layout") in _BLIND_LAYOUTS


def _hides_a_file(change: Change) -> bool:
    return any(not glob.endswith("/") for glob in change.options.get("ignore", ()))


def _mixed_splits(plan: "Plan") -> frozenset[str]:
    """Return the splits that folders in the paths of the examples mean, if there are several and the plan has one."""
    import pyarrow.compute as pc

    if len(plan.splits) > 1:
        return frozenset()
    folders = pc.unique(pc.replace_substring_regex(plan.examples["key"], "[^/]*$", "")).to_pylist()
    found = {split for path in folders for name in path.split("/") if (split := split_of_folder(name))}
    return frozenset(found) if len(found) > 1 else frozenset()


def _on_whole(change: Change, planned: Planned) -> "Plan | None":
    """Return the plan of a change of sources on the user's: files of labels may be outside of the new ones."""
    options = {name: value for name, value in change.options.items() if name != "ignore"}  # globs of the new sources
    try:
        return planned(replace(change, sources=(), options=options))
    except (ShardkitError, OSError):
        return None


def _unused(plan: "Plan") -> frozenset[Claim]:
    return frozenset(claim for claim in plan.claims if claim.may_lose_labels)


def _lost_labels(found: Sequence[_Found]) -> frozenset[Claim]:
    """Return the files of labels that no change reads: those that the blind ones leave out and no other one takes."""
    lost = frozenset[Claim]().union(*(one.unread for one in found))
    for one in found:
        if not one.is_blind and one.num_examples is not None:
            lost &= one.claims
    return lost


def _with_lost(remedy: str, claim: Claim) -> str:
    path = printable(claim.path)
    write = remedy or f"write what {path} says about the images as one of the layouts in `shardkit help layouts`"
    return f"{write}, or hide {path} with {named('ignore', claim.glob)} if it holds no labels"


def _ranked(found: Sequence[_Found]) -> tuple[Change, ...]:
    """Return the changes, those that keep the most images first, at most four."""
    counts = [one.num_examples for one in found if one.num_examples is not None]
    most = max(counts, default=0)
    # Splits that a change names are those that it is about.
    every = frozenset[str]().union(
        *(one.splits for one in found if one.num_examples == most and "splits" not in one.change.options)
    )
    ranked = sorted(found, key=lambda one: -_rank(one.num_examples, most))
    shown = ranked[:_MOST_OFFERED]
    differ = len({one.num_classes for one in shown if one.num_classes}) > 1
    return tuple(_told(one, most, every, tells_classes=differ) for one in shown)


def _rank(num_examples: int | None, most: int) -> int:
    """Return the number of images that a change keeps; a few that it rejects do not count."""
    return most if num_examples is None or num_examples >= _MIN_KEPT * most else num_examples


def values_with(call: Call, change: Change) -> dict[str, Any]:
    """Return the values of the options of a changed call, for planning it on the listing only.

    Args:
        call: The user's call.
        change: The change.
    """
    values = {
        name: OPTIONS[name].form.read(name, value) if name in change.options else value
        for name, value in call.changed(change).given.items()
    }
    for name, value in (("dedupe", "drop"), ("bit_depth", AUTO_SCALE)):  # which read all images
        if values.get(name) == value:
            del values[name]
    return {**values, "check": "header"}


def _can_be_planned(change: Change, call: Call) -> bool:
    words = [one for value in change.options.values() for one in (value if isinstance(value, tuple) else (value,))]
    values = [str(word).rpartition("=")[2] for word in words]
    has_blank = not _PLACEHOLDERS.isdisjoint(values)
    # A store that the user's sources are not in may be out of reach: its client tries for a minute or more.
    leaves = any(one.startswith(STORES) for one in values) and not any(one.startswith(STORES) for one in call.sources)
    was_planned = _OF_THE_SAME_PLAN.issuperset(change.options) and not (change.sources or change.inside)
    return (
        not was_planned
        and not has_blank
        and not leaves
        and not change.starts_anew
        and not change.moves
        and change.command in {None, call.command}
    )


def _confirms(change: Change) -> bool:
    """Return whether the user confirms a reading by the change: then it may give one class."""
    return "layout" in change.options or "classes" in change.options


def _told(found: _Found, most: int, splits: frozenset[str], *, tells_classes: bool) -> Change:
    """Return the change with its number of classes, and with what it loses, in its meaning."""
    change, loses = found.change, []
    if found.num_examples is None:
        return change
    if tells_classes and found.num_classes:
        loses.append(f"{counted(found.num_classes, 'class')}, {counted(found.num_examples, 'image')}")
    if found.mixed:
        loses.append(f"mixes the splits {' and '.join(sorted(found.mixed))}")
    if found.num_examples < most:
        loses.append(f"leaves out {most - found.num_examples:,} of {counted(most, 'image')}")
    if lost := [] if change.options.get("splits") else sorted(splits - found.splits):
        loses.append(f"without the {'split' if len(lost) == 1 else 'splits'} {' and '.join(lost)}")
    return replace(change, meaning="; ".join([change.meaning, *loses])) if loses else change
