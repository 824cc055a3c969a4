"""The tables and lines that `convert` and `plan` print."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Group
from rich.table import Table
from rich.text import Text

from shardkit.cli.printing.dataset_summary import gps_lines, rejected_line, skipped_text, ties_lines
from shardkit.cli.printing.lines import Paragraph, table
from shardkit.cli.printing.next_steps import next_steps
from shardkit.cli.printing.reading_picture import reading_lines, reading_picture
from shardkit.cli.printing.splits_table import SplitRow, balance_lines, rows_of, splits_table
from shardkit.conversion.inventory.columns import features_of
from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.plan import Plan
from shardkit.conversion.planning.sizing import format_size
from shardkit.conversion.writing.reject_limit import REJECTED_SHOWN, RejectLimit
from shardkit.dataset.manifest import Manifest
from shardkit.naming import counted, first_of, printable
from shardkit.options.words import shown
from shardkit.reject_reasons import NOT_COUNTED

if TYPE_CHECKING:
    from shardkit.conversion.writing.conversion import Outcome

CLASSES_SHOWN = 6  # in one line
CLASSES_LISTED = 10  # all of so many classes are listed
WORST_LISTED = 5  # of more classes: those furthest from their shares
_NAMED = 3  # names or pairs of a hint
_WORTH_SAYING = 0.15  # largest difference of shares of the classes that are not listed


def _line(text: str) -> Paragraph:
    return Paragraph(text)


def classes_line(classes: list[str]) -> str:
    """Return a line with the classes in label order; the middle of a long list is omitted."""
    if not classes:
        return "no classes"
    shown = [repr(name) for name in classes]
    if len(shown) > CLASSES_SHOWN:
        shown = [*shown[: CLASSES_SHOWN - 1], "…", shown[-1]]
    return f"{counted(len(classes), 'class')}: {', '.join(shown)}"


def conversion_summary(outcome: "Outcome", output: str) -> Group:
    """Return what `convert` prints."""
    manifest = outcome.manifest
    num_examples = sum(split.num_examples for split in manifest.splits.values())
    lines = ["", classes_line(manifest.classes), *gps_lines(manifest), rejected_line(manifest, output)]
    if not outcome.unchanged:
        bytes_per_second = format_size(int(manifest.source.num_bytes / outcome.seconds))
        rates = f"{num_examples / outcome.seconds:,.0f} images/s, {bytes_per_second}/s"
        # No rates after a resume: the shards of earlier runs took no time of this one.
        before = f"{counted(outcome.finished_before, 'shard')} finished before"
        lines.append(f"{outcome.seconds:.1f} s, {before if outcome.finished_before else rates}")
    lines += hint_lines(outcome.findings)
    return Group("", *_splits_parts(manifest, output), *map(_line, lines), *next_steps(manifest, output))


def hint_lines(findings: Iterable[Finding]) -> list[str]:
    """Return a line for each finding that the summary mentions."""
    hints = [finding for finding in findings if finding.kind == "hints"]
    return [f"{hint.sentence}{_examples(hint.examples)}; {hint.remedy}" for hint in hints]


def _examples(names: Sequence[str]) -> str:
    return f" ({printable(first_of(names, _NAMED))})" if names else ""


def _splits_parts(manifest: Manifest, output: str) -> list[Table | Text | Paragraph | str]:
    rows = rows_of(manifest)
    is_kept = "kept_splits" in manifest.options  # then the shares are for what is appended later
    wanted = None if is_kept else manifest.options["splits"]
    shares = shares_parts(
        {name: SplitCounts(split.num_examples, split.class_counts) for name, split in manifest.splits.items()},
        manifest.classes,
        None if wanted is None else {name: Fraction(share) for name, share in wanted.items()},
        () if is_kept else manifest.options.get("splits_of", ()),
    )
    rule = [] if wanted is None else split_rule_lines(manifest.options.get("split_by"))
    lines = [*rule, *balance_lines(rows, manifest.features, manifest.generations, output)]
    return [splits_table(rows, "bytes"), *shares, *map(Paragraph, ["", *lines] if lines else [])]


def plan_summary(plan: Plan, limit: RejectLimit, *, explain: bool = False) -> Group:
    """Return what `plan` prints: how the source is read, the splits, and with `explain` the reasons for both."""
    rows = [
        SplitRow(
            split.name, split.class_counts, split.shard_counts, split.num_bytes, split.balance, split.num_unlabelled
        )
        for split in plan.splits
    ]
    applied = plan.options.applied().splits
    lines = [] if applied.splits is None else split_rule_lines(applied.split_by)
    lines += [*balance_lines(rows, features_of(plan.schema)), classes_line(plan.classes), *_rejected_lines(plan, limit)]
    lines += ties_lines(plan.source.groups, plan.source.duplicates)
    lines += ["", "Why this layout:", *(f"  {reason}" for reason in plan.layout_reasons)] if plan.layout_reasons else []
    lines += reasons_lines([split.reasons for split in plan.splits]) if explain else []
    lines += hint_lines(plan.findings)
    counts = {split.name: SplitCounts(split.num_examples, split.class_counts) for split in plan.splits}
    shares = shares_parts(counts, plan.classes, applied.splits, applied.splits_of)
    read = map(_line, reading_lines(plan))
    splits = splits_table(rows, "source\nbytes")
    return Group("", reading_picture(plan), *read, "", splits, *shares, "", *map(_line, lines))


def split_rule_lines(split_by: str | None) -> list[str]:
    """Return the line that says which images may change split when others are added; none if no image does."""
    if split_by != "stratified":
        return []
    moves = "if SOURCE is converted again with more images, a few change split (none with --split-by hash)"
    return [f"split stratified: `append` keeps the split of every image; {moves}"]


def _rejected_lines(plan: Plan, limit: RejectLimit) -> list[str]:
    """Return lines about the rejected images: how many, the first ones, and whether `convert` would stop."""
    by_reason = Counter(plan.rejected["reason"].to_pylist())
    rejected = ", ".join(f"{count:,} {reason}" for reason, count in by_reason.most_common()) or "none"
    lines = [f"rejected: {rejected}{skipped_text(plan.source.skipped)}"]
    lines += [
        f"  {printable(row['key'])}: {shown(row['message'])}"
        for row in plan.rejected.slice(0, REJECTED_SHOWN).to_pylist()
    ]
    if len(plan.rejected) > REJECTED_SHOWN:
        lines.append(f"  … and {len(plan.rejected) - REJECTED_SHOWN} more")
    if exceeds(plan, limit):
        lines.append(f"more than --max-rejected {limit.text} allows: `convert` would stop here")
    return lines


def exceeds(plan: Plan, limit: RejectLimit) -> bool:
    """Return whether `convert` would stop because of too many rejected images; duplicates do not count."""
    rejected = pc.sum(pc.invert(pc.is_in(plan.rejected["reason"], pa.array(NOT_COUNTED)))).as_py() or 0
    return not limit.allows(rejected, plan.source.num_files)


def reasons_lines(reasons: Iterable[Sequence[str]]) -> list[str]:
    """Return lines that explain the number of shards; the first reason of a split names it."""
    indented = [f"  {'  ' * bool(i)}{reason}" for one in reasons for i, reason in enumerate(one)]
    return ["", "Number of shards, step by step:", *indented]


class SplitCounts(NamedTuple):
    """The number of examples of a split, and of each of its classes in label order."""

    num_examples: int
    class_counts: list[int]


def shares_parts(
    splits: Mapping[str, SplitCounts],
    classes: Sequence[str],
    wanted: Mapping[str, Fraction] | None,
    splits_of: Sequence[str] = (),
) -> list[Table | Text | str]:
    """Return the parts of a summary that show the shares; none for a single split.

    Args:
        splits: The counts of each split.
        classes: Names of the classes in label order.
        wanted: The share that the user asked for of each split; None for the source's own splits.
        splits_of: The source's splits that were divided; empty for all images. Other splits have no share.
    """
    names = [name for name in splits if wanted is None or name in wanted]
    if len(names) < 2:
        return []
    # float64[1 + number of classes, number of splits]: all images in the first row.
    counts = np.array([[splits[name].num_examples, *splits[name].class_counts] for name in names], np.int64).T
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    target = shares[0] if wanted is None else np.array([float(wanted[name]) for name in names])
    offs = np.where(totals > 0, np.abs(shares - target).max(axis=1), 0)
    # The classes of masks are in their pixels and are not counted.
    shown, rest = _listed(offs[1:]) if totals[1:].any() else ([], [])

    head = f"share of {' and '.join(splits_of)}" if splits_of else "share of"
    heads = [name if wanted is None else f"{name}\n{float(wanted[name]):.1%}" for name in names]
    made = table(head if wanted is None else f"{head}\nwanted", *heads, "examples")
    for row in (0, *(label + 1 for label in shown)):
        name = printable(repr(classes[row - 1])) if row else "all"
        parts = [f"{share:.1%}" if totals[row] else "" for share in shares[row].tolist()]
        made.add_row(name, *parts, f"{totals[row]:,}")
    if not rest:
        return ["", made]
    than = "all images" if wanted is None else "the shares wanted"
    within = float(offs[[label + 1 for label in rest]].max())
    # Classes of a few images are far from any share: that says nothing.
    how = f", each within {within:.1%} of {than}" if within <= _WORTH_SAYING else ""
    return ["", made, Text(f"… {counted(len(rest), 'other class')}{how}")]


def _listed(offs: npt.NDArray[np.float64]) -> tuple[list[int], list[int]]:
    """Return the classes to list and the others, each in label order.

    Args:
        offs: float64[num_classes], the largest difference between a class's share and the wanted one.
    """
    if len(offs) <= CLASSES_LISTED:
        return list(range(len(offs))), []
    by_size = np.argsort(-offs, kind="stable").tolist()
    return sorted(by_size[:WORST_LISTED]), sorted(by_size[WORST_LISTED:])
