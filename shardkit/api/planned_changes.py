"""Plan the changes of a call that a refusal offers: those that work, and what each would give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shardkit.errors import ShardkitError
from shardkit.hashing import sha256_hex
from shardkit.naming import counted, split_of_folder
from shardkit.options.call import Call, Change
from shardkit.refusals import AS_RECOGNISED, RefusalError
from shardkit.reject_reasons import BAD_LABEL, BAD_PATH, MISSING, NO_LABEL
from shardkit.sources.claim import Claim
from shardkit.sources.columns import MASK_PATH
from shardkit.sources.recognising.folders.split_folders import are_splits, says_nothing, splits_of
from shardkit.sources.walking import join
from shardkit.storage import STORES

if TYPE_CHECKING:
    from shardkit.conversion.planning.plan import Plan

_PLACEHOLDERS = frozenset({"FILE", "FOLDER", "NAME"})  # words that stand for what only the user knows
# Options that change no class and no reading: a change of these alone is not planned again.
_OF_THE_SAME_PLAN = frozenset({"accept", "background", "bit_depth", "max_rejected", "without_annotation"})
_BLIND = frozenset({"unlabelled", "label_pattern"})
_BLIND_LAYOUTS = frozenset({"class-folders", "file-names", "unlabelled"})
_STATES_A_READING = frozenset({"label", "boxes", "mask", "reading"})
# Options that say how SOURCE is read, which a reading says in other words.
_OF_A_READING = frozenset({"layout", "class_level", "label_columns", "label_pattern", "image_column", "ignore"})

Planned = Callable[[Change], "Plan"]


@dataclass(frozen=True)
class FoundChange:
    """What a changed call would give."""

    change: Change
    num_examples: int | None = None  # number of its examples; None if it was not planned
    num_images: int = 0  # number of the images that it reads, masks included
    splits: frozenset[str] = frozenset()
    num_classes: int = 0
    # The splits that folders in the paths of its examples mean, if it has none of them.
    mixed: frozenset[str] = frozenset()
    claims: frozenset[Claim] = frozenset()  # the files in SOURCE that may hold labels, and that it does not read
    # Whether it says that the folders or the files' names are the labels, or that there are none.
    is_blind: bool = False
    gives: str = ""  # a digest of its examples, whatever folder their keys start at; '' if it was not planned

    @property
    def is_recognised(self) -> bool:
        """Whether SOURCE is read as it was recognised, which the user may mean whatever is lost."""
        return self.change.meaning.startswith(AS_RECOGNISED)

    @property
    def unread(self) -> frozenset[Claim]:
        """The files that hold labels, as another layout or the user knows, and that it says not to read."""
        return self.claims if self.is_blind else frozenset()


def planned_changes(changes: Sequence[Change], call: Call, planned: Planned) -> list[FoundChange]:
    """Return what the changes that work give."""
    found: list[FoundChange] = []
    stated_plans: list[Plan] = []
    for change in changes:
        if not _can_be_planned(change, call):
            found.append(FoundChange(change))
            continue
        try:
            plan = planned(change)
        except (ShardkitError, OSError) as error:
            found += planned_changes(_accepting(change, error), call, planned)
            continue
        allowed = _allowing_rejects(change, plan, call)
        if (len(plan.classes) == 1 and not _confirms(change)) or allowed is None:
            continue
        if _STATES_A_READING.intersection(change.options):
            if any(_are_same(plan, other) for other in stated_plans):
                continue
            stated_plans.append(plan)
        change = allowed  # noqa: PLW2901 - the same, with the limit that it needs
        if change.options.get("layout") == "class-folders" and not _may_be_classes(plan.classes):
            continue
        names = frozenset(split.name for split in plan.splits)
        is_whole = call.changed(change).sources == call.sources
        claims = _unused(plan if is_whole else _on_whole(change, planned) or plan)
        mixed = frozenset[str]() if "splits" in change.options else _mixed_splits(plan)
        stated = _stated(change, plan, call, planned)
        gives = _digest(plan, call.changed(change).sources[0])
        num, blind = plan.num_examples, is_blind(change)
        num_images = num + _num_masks(plan)
        one = FoundChange(stated, num, num_images, names, len(plan.classes), mixed, claims, blind, gives)
        if not gives or gives not in {other.gives for other in found}:
            found.append(one)
    return found


def _num_masks(plan: "Plan") -> int:
    table = plan.examples
    return len(table[MASK_PATH.name].drop_null()) if MASK_PATH.name in table.column_names else 0


def _are_same(plan: "Plan", other: "Plan") -> bool:
    """Return whether two plans give the same, and reject the same."""
    splits, others = ([(split.name, split.num_examples) for split in one.splits] for one in (plan, other))
    are_equal = plan.examples.equals(other.examples) and plan.rejected.equals(other.rejected)
    return are_equal and (plan.classes, splits) == (other.classes, others)


def _digest(plan: "Plan", source: str) -> str:
    """Return what tells plans with one class for each image apart, wherever their keys start; '' for other plans."""
    if "label" not in plan.examples.column_names or not plan.classes:
        return ""
    root = (plan.source.reading or {}).get("images", {}).get("root", "")
    facts = zip(*(plan.examples[name].to_pylist() for name in ("key", "label")), strict=True)
    rows = sorted(f"{join(source.rstrip('/'), root, key)} {label}" for key, label in facts)
    splits = [(split.name, split.num_examples) for split in plan.splits]
    return sha256_hex(repr((plan.classes, splits, rows)).encode())


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
        and change.command in {None, call.command}
    )


def _stated(change: Change, plan: "Plan", call: Call, planned: Planned) -> Change:
    """Return a change to a layout as one to the reading that it means, if options say it and it explains every file."""
    from shardkit.sources.readings.given import is_said_by, options_saying
    from shardkit.sources.readings.text import from_data

    if not change.options.get("layout") or plan.source.reading is None:
        return change
    reading = from_data(plan.source.reading, "the plan")
    options = options_saying(reading)
    rules = {name: value for name, value in change.options.items() if name not in _OF_A_READING}
    replaced = dict.fromkeys(_OF_A_READING.intersection(call.given))
    stated = replace(change, options={**replaced, **rules, **options})
    if not is_said_by(options, reading):
        return change
    try:
        other = planned(stated)
    except (ShardkitError, OSError):
        return change
    are_same = other.examples.equals(plan.examples) and other.rejected.equals(plan.rejected)
    return stated if are_same else change


def _accepting(change: Change, error: Exception) -> list[Change]:
    """Return a change that a finding stops, with what mends or accepts the finding; none if nothing does."""
    changes = error.refusal.changes if isinstance(error, RefusalError) and "accept" not in change.options else ()
    return [
        replace(
            change,
            meaning=f"{change.meaning}; {one.meaning}",
            options=one.options if "reading" in one.options else {**change.options, **one.options},
        )
        for one in changes
        if {"accept", "reading"} & one.options.keys()
    ]


def _may_be_classes(names: Sequence[str]) -> bool:
    """Return whether folders may be classes: they are no splits, and not one folder around everything."""
    are_told_apart = len(names) > 1 and not all(map(says_nothing, names))
    return are_told_apart and not are_splits(names) and {*splits_of(names).values()} <= {"train"}


def _confirms(change: Change) -> bool:
    """Return whether the user confirms a reading by the change: then it may give one class."""
    is_stated = not {"layout", "classes", "boxes", "mask", "reading"}.isdisjoint(change.options)
    return is_stated or change.meaning.startswith(AS_RECOGNISED)


def _allowing_rejects(change: Change, plan: "Plan", call: Call) -> Change | None:
    """Return a change that allows its rejects, if these are records of a table without a label or a name; else None."""
    from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit, counted_rejects

    rejects = counted_rejects(plan.rejected)
    limit = RejectLimit.parse(call.changed(change).given.get("max_rejected", DEFAULT_MAX_REJECTED))
    if limit.allows(len(rejects), plan.source.num_files):
        return change
    is_stated = "label_columns" in change.options or not _STATES_A_READING.isdisjoint(change.options)
    is_of_records = is_stated and {
        NO_LABEL,
        BAD_PATH,
        MISSING,
        BAD_LABEL,
    }.issuperset(rejects["reason"].to_pylist())
    if not is_of_records or len(rejects) >= plan.num_examples:
        return None
    meaning = f"{change.meaning}; without {counted(len(rejects), 'record')} without it or without an image"
    return replace(change, meaning=meaning, options={**change.options, "max_rejected": len(rejects)})


def is_blind(change: Change) -> bool:
    """Return whether a change says that folders or names are the labels, or that there are none."""
    return bool(_BLIND.intersection(change.options)) or change.options.get("layout") in _BLIND_LAYOUTS


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
