"""Warnings about the contents: duplicates, rejected and unreadable files, positions; and the findings of a plan."""

from collections.abc import Iterable, Iterator

from shardkit.conversion.planning.checks.finding import FIXES, Finding
from shardkit.naming import counted
from shardkit.options.words import named, shell_command
from shardkit.report.advice.warning import Advice
from shardkit.report.facts.gathering import Facts

MAX_REJECTED_SHARE = 0.01
_EXAMPLES = 3  # of a finding
_PROBLEMS = {
    *("duplicate_in_several_splits", "duplicate_with_other_label", "group_in_several_splits"),
    "near_duplicate_in_several_splits",
}
_SECTIONS = {
    "duplicate_in_several_splits": "leaks",
    "group_in_several_splits": "leaks",
    "near_duplicate_in_several_splits": "leaks",
    "duplicate_with_other_label": "conflicts",
    "near_duplicate_with_other_label": "conflicts",
    "gps_positions": "jpegs",
    "unread_files": "rejected",
}


def finding_advice(findings: Iterable[Finding]) -> Iterator[Advice]:
    """Yield the findings of a plan as warnings."""
    for finding in findings:
        if finding.kind != "warns":
            continue
        more = f"; and {len(finding.examples) - _EXAMPLES:,} more" if len(finding.examples) > _EXAMPLES else ""
        examples = f": {'; '.join(finding.examples[:_EXAMPLES])}{more}" if finding.examples else ""
        yield Advice(
            finding.code,
            "problem" if finding.code in _PROBLEMS else "check",
            f"{finding.sentence}{examples}.",
            f"{_capital(finding.remedy)}." if finding.remedy else "",
            _SECTIONS.get(finding.code, "classes"),
            finding.commands,
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def repeated_images(facts: Facts, known: set[str]) -> Iterator[Advice]:
    """Yield warnings about leaks between splits and about duplicates with different labels."""
    found = facts.counted
    if found.leaks is not None and found.leaks.num and "duplicate_in_several_splits" not in known:
        yield Advice(
            "leaks",
            "problem",
            f"{counted(found.leaks.num, 'image')} with exact duplicates in another split: a model is tested with "
            "images that it has seen.",
            f"Convert again with {named('dedupe', 'drop')}, or with {named('dedupe', 'group')} if shardkit "
            "makes the splits.",
            "leaks",
        )
    near = found.near_leaks
    if near is not None and near.num and "near_duplicate_in_several_splits" not in known:
        yield Advice(
            "near_leaks",
            "check",
            f"{counted(near.num, 'set')} of near-identical images in several splits: a model may be tested with images "
            "that it has seen.",
            f"Convert again with {named('dedupe', 'drop')}, or with {named('dedupe', 'group')} if shardkit "
            "makes the splits.",
            "leaks",
        )
    if found.group_leaks.num and "group_in_several_splits" not in known:
        yield Advice(
            "group_leaks",
            "problem",
            f"{counted(found.group_leaks.num, 'group')} with images in more than one split.",
            "Move each group into one split; otherwise results of evaluation are too good.",
            "leaks",
        )
    if found.conflicts is not None and found.conflicts.num and "duplicate_with_other_label" not in known:
        yield Advice(
            "conflicts",
            "problem",
            f"{counted(found.conflicts.num, 'image')} with exact duplicates that have different labels: at least one "
            "of them is wrong.",
            _correction(facts),
            "conflicts",
            correction_commands(facts),
        )
    near = found.near_conflicts
    if near is not None and near.num and "near_duplicate_with_other_label" not in known:
        have = "has" if near.num == 1 else "have"
        yield Advice(
            "near_conflicts",
            "check",
            f"{counted(near.num, 'set')} of near-identical images {have} different labels: one may be wrong.",
            _correction(facts),
            "conflicts",
            correction_commands(facts),
        )


def _correction(facts: Facts) -> str:
    if facts.has_one_class:
        return (
            f"List them, correct the column label, and convert the dataset again; {named('drop')} with a file of keys "
            "removes images. Nothing is decoded again."
        )
    return f"Convert the dataset again with {named('drop')} and a file of the keys of wrong ones."


def correction_commands(facts: Facts) -> tuple[str, ...]:
    """Return the commands that list all wrong labels and correct them; () where `labels` cannot."""
    if not facts.has_one_class:
        return ()
    return (
        shell_command("report", facts.place, fixes=FIXES),
        shell_command("convert", facts.place, "NEW", labels=FIXES),
    )


def rejected_files(facts: Facts) -> Iterator[Advice]:
    """Yield a warning if many files are rejected."""
    rejects = facts.rejects
    share = rejects.num_rejected / max(1, rejects.num_files)
    if share > MAX_REJECTED_SHARE:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in rejects.by_reason.items())
        yield Advice(
            "rejected",
            "check",
            f"{counted(rejects.num_rejected, 'file')} ({share:.1%}) {'were' if facts.is_dataset else 'would be'} "
            f"rejected: {reasons}.",
            "Repair or remove them if they matter; the list below has the reason of each.",
            "rejected",
        )


def unreadable_pictures(num: int, *, is_dataset: bool) -> Iterator[Advice]:
    """Yield a warning if examples to show could not be read.

    Args:
        num: Number of them.
        is_dataset: Whether they are records of a dataset.
    """
    if num:
        yield Advice(
            "unreadable",
            "problem",
            f"{num:,} of the pictures to show cannot be read; the page shows the reasons in their places.",
            f"Run `{shell_command('verify', deep=True)}` on the dataset."
            if is_dataset
            else f"Run the report without {named('check', 'header')}.",
            "pictures",
        )


def gps_positions(facts: Facts) -> Iterator[Advice]:
    """Yield a warning if images carry the coordinates of the place where they were taken."""
    jpegs = facts.jpegs
    is_exact = facts.num_gps is not None or jpegs.num_images >= facts.num_examples
    num = jpegs.num_gps if facts.num_gps is None else facts.num_gps
    if not num:
        return
    of_all = "" if is_exact else f" of a sample of {jpegs.num_images:,}"
    yield Advice(
        "gps",
        "check",
        f"{counted(num, 'image')}{of_all} {'carries' if num == 1 else 'carry'} a GPS position, "
        "often that of somebody's home.",
        f"Before the dataset is handed on, convert with {named('strip_metadata', True)}.",
        "jpegs",
    )
