"""Answer the user's call: complete refusals with the call, and offer only what works.

A refusal names changes of the call. Before they are printed, each is planned on the listing, without decoding or
writing anything: one that would be refused itself, give one class or reject too many images is not offered; one that
loses images or a split says so. If each would be refused with another question, they are offered with the answers to
it. One that mixes the images of folders of splits, or takes these folders for classes, is offered only if no other
works. The reading that was recognised comes first, even if it leaves out images or gives one class. Where the changes
give different numbers of classes, each says how many. One that reads the images without a file
that may hold their labels is not offered either, unless another one reads that file: its boxes would be lost, and the
result would look like a good dataset.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from shardkit.api.planned_changes import FoundChange, Planned, is_blind, planned_changes
from shardkit.errors import ShardkitError
from shardkit.naming import counted, printable
from shardkit.options.call import Call, Change
from shardkit.options.groups import OPTIONS
from shardkit.options.values import AUTO_SCALE
from shardkit.options.words import named
from shardkit.refusals import Refusal, RefusalError, RefusedDataError, UnclearError
from shardkit.sources.claim import Claim

if TYPE_CHECKING:
    pass

_MOST_OFFERED = 4
_MOST_CLASSES, _IMAGES_SHOWN = 20, 3  # of each reading, and of each class
_MIN_KEPT = 0.9  # of the images: a change that keeps as many is not worse than one that keeps all


@contextmanager
def answering(call: Call, planned: Planned | None = None, *, shows_images: bool = False) -> Iterator[None]:
    """Complete the refusals of a call: who runs a call for the user runs it inside of this.

    Args:
        call: The user's call.
        planned: Function that plans the call with a change, without decoding; None if no change can be planned.
        shows_images: Whether a question about the source also names images of each class of each reading.
    """
    try:
        yield
    except (RefusalError, RefusedDataError) as error:
        if error.call is None:
            error.call = call
            if planned is not None and error.refusal.changes:
                with _one_work_folder():
                    error.refusal = _checked(error.refusal, call, planned)
                    if shows_images and isinstance(error, UnclearError):
                        images = "\n".join(_image_names(error.refusal.changes, planned))
                        error.refusal = replace(error.refusal, appendix=error.refusal.appendix or images)
        raise


def _image_names(changes: Sequence[Change], planned: Planned) -> Iterator[str]:
    """Yield lines with the first images of each class of each reading."""
    for change in changes:
        try:
            plan = planned(change)
        except (ShardkitError, OSError):  # its meaning says what it needs besides
            continue
        if "label" not in plan.examples.column_names:
            continue
        yield f"{change.meaning}:"
        for number, name in enumerate(plan.classes[:_MOST_CLASSES]):
            keys = plan.examples.filter(pc.equal(plan.examples["label"], number))["key"].slice(0, _IMAGES_SHOWN)
            yield f"  {printable(name)}: {', '.join(map(printable, keys.to_pylist()))}"
        if more := len(plan.classes[_MOST_CLASSES:]):
            yield f"  and {counted(more, 'more class')}"


@contextmanager
def _one_work_folder() -> Iterator[None]:
    """Let all plans unpack into one folder, so that an archive is unpacked once and not for each change."""
    from shardkit.archives.unpacking import unpacking_once
    from shardkit.parallel.reports import work_folder

    with work_folder(None) as work, unpacking_once(work):
        yield


def _checked(refusal: Refusal, call: Call, planned: Planned) -> Refusal:
    """Return a refusal with the changes that work; if none works, it says what comes in the way of the first."""
    found = planned_changes(refusal.changes, call, planned)
    if found and all(one.is_blind or _hides_a_file(one.change) for one in found):
        # A file may hold the labels, and its command asks which.
        answers = [one for one in _answered_twice(refusal.changes, planned) if not is_blind(one)]
        found = [*planned_changes(answers, call, planned), *found]
    if clean := [one for one in found if not one.mixed and one.num_examples]:
        found = [one for one in found if one in clean or one.num_examples is None or one.is_recognised]
    lost = _lost_labels(found)
    changes = _ranked([one for one in found if not one.unread.intersection(lost)])
    if lost:
        refusal = replace(refusal, remedy=_with_lost(refusal.remedy, min(lost, key=lambda claim: claim.path)))
    if changes or not refusal.changes or refusal.remedy:
        return replace(refusal, changes=changes)
    if answers := _answered_twice(refusal.changes, planned):
        found = planned_changes(answers, call, planned)
        lost = _lost_labels(found)
        if changes := _ranked([one for one in found if not one.unread.intersection(lost)]):
            return replace(refusal, changes=changes)
    try:
        plan = planned(refusal.changes[0])
    except (ShardkitError, OSError) as error:
        if not isinstance(error, RefusalError | RefusedDataError):
            return replace(refusal, changes=(), remedy=f"whichever is chosen, {error}")
        inner = error.refusal
        said = "; ".join(filter(None, (inner.problem, inner.remedy)))
        return replace(refusal, changes=(), remedy=f"whichever is chosen, {said}", appendix=inner.appendix)
    if len(plan.rejected):
        first = plan.rejected.slice(0, 1).to_pylist()[0]
        share = f"{len(plan.rejected):,} of {counted(plan.source.num_files, 'image')}"
        why = f"the first, {printable(first['key'])}: {first['message']}"
        return replace(refusal, changes=(), remedy=f"whichever is chosen, {share} are rejected; {why}")
    return replace(refusal, changes=(), remedy="arrange the files like one of the layouts in `shardkit help layouts`")


def _answered_twice(changes: Sequence[Change], planned: Planned) -> list[Change]:
    """Return the changes with those of the refusals that they meet: each answers two questions at once."""
    answers: list[Change] = []
    for change in changes:
        if is_blind(change):
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


def _hides_a_file(change: Change) -> bool:
    return any(not glob.endswith("/") for glob in change.options.get("ignore", ()))


def _lost_labels(found: Sequence[FoundChange]) -> frozenset[Claim]:
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


def _ranked(found: Sequence[FoundChange]) -> tuple[Change, ...]:
    """Return the changes, at most four: what was recognised, then those that keep the most images."""
    most = max((one.num_images for one in found), default=0)
    # Splits that a change names are those that it is about.
    named = (one.splits for one in found if one.num_images == most and "splits" not in one.change.options)
    every = max(named, key=len, default=frozenset[str]())
    ranked = sorted(found, key=lambda one: (not one.is_recognised, one.change.is_further, -_rank(one, most)))
    shown = ranked[:_MOST_OFFERED]
    differ = len({one.num_classes for one in shown if one.num_classes}) > 1
    return tuple(_told(one, most, every, tells_classes=differ) for one in shown)


def _rank(one: FoundChange, most: int) -> int:
    """Return the number of images that a change keeps; a few that it rejects do not count, nor do copies."""
    is_whole = one.num_examples is None or one.change.is_whole or one.num_images >= _MIN_KEPT * most
    return most if is_whole else one.num_images


def values_with(call: Call, change: Change) -> dict[str, Any]:
    """Return the values of the options of a changed call, for planning it on the listing only."""
    values = {
        name: OPTIONS[name].form.read(name, value) if name in change.options else value
        for name, value in call.changed(change).given.items()
    }
    for name, value in (("dedupe", "drop"), ("bit_depth", AUTO_SCALE)):  # which read all images
        if values.get(name) == value:
            del values[name]
    return {**values, "check": "header"}


def _told(found: FoundChange, most: int, splits: frozenset[str], *, tells_classes: bool) -> Change:
    """Return the change with its number of classes, and with what it loses, in its meaning."""
    change, loses = found.change, []
    if found.num_examples is None:
        return change
    if tells_classes and found.num_classes:
        loses.append(f"{counted(found.num_classes, 'class')}, {counted(found.num_examples, 'image')}")
    if found.mixed:
        loses.append(f"mixes the splits {' and '.join(sorted(found.mixed))}")
    if found.num_images < most:
        loses.append(f"leaves out {most - found.num_images:,} of {counted(most, 'image')}")
    has_fewer = len(found.splits) < len(splits)  # else they have other names
    if lost := sorted(splits - found.splits) if has_fewer and not change.options.get("splits") else []:
        loses.append(f"without the {'split' if len(lost) == 1 else 'splits'} {' and '.join(lost)}")
    return replace(change, meaning="; ".join([change.meaning, *loses])) if loses else change
