"""The tables and lines that `convert`, `plan` and `append` print."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Group
from rich.table import Table
from rich.text import Text

from shardkit.cli.printing.dataset_summary import generations_part, gps_lines, rejected_line, skipped_text, ties_lines
from shardkit.cli.printing.lines import Paragraph, Verbatim, table
from shardkit.cli.printing.next_steps import next_steps, old_exports_lines
from shardkit.cli.printing.reading_picture import reading_lines, reading_picture
from shardkit.cli.printing.splits_table import Row, balance_lines, reasons_lines, rows_of, splits_table
from shardkit.conversion.inventory.columns import features_of
from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.earlier_examples import LEFT_OUT, WITHDRAWN
from shardkit.conversion.planning.plan import Plan
from shardkit.conversion.planning.sizing import format_size
from shardkit.conversion.writing.reject_limit import REJECTED_SHOWN, RejectLimit
from shardkit.dataset.manifest import Manifest
from shardkit.naming import counted, first_of, printable
from shardkit.options.words import shown
from shardkit.reject_reasons import NOT_COUNTED

if TYPE_CHECKING:
    from shardkit.conversion.writing.appending.append import AppendOutcome
    from shardkit.conversion.writing.conversion import Outcome

CLASSES_SHOWN = 6  # in one line
CLASSES_LISTED = 10  # all of so many classes are listed
NEW_CLASSES_SHOWN = 10
WORST_LISTED = 5  # of more classes: those furthest from their shares
_NAMED = 3  # names or pairs of a hint
_WORTH_SAYING = 0.15  # largest difference of shares of the classes that are not listed


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
    return Group("", *_splits_parts(manifest, output), *map(Paragraph, lines), *next_steps(manifest, output))


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
        rows,
        manifest.classes,
        None if wanted is None else {name: Fraction(share) for name, share in wanted.items()},
        () if is_kept else manifest.options.get("splits_of", ()),
    )
    rule = [] if wanted is None else split_rule_lines(manifest.options.get("split_by"))
    lines = [*rule, *balance_lines(rows, manifest.features, manifest.generations, output)]
    return [splits_table(rows, "bytes"), *shares, *map(Paragraph, ["", *lines] if lines else [])]


def plan_summary(plan: Plan, limit: RejectLimit, *, explain: bool = False) -> Group:
    """Return what `plan` prints: how the source is read, the splits, and with `explain` the reasons for both."""
    applied = plan.options.applied().splits
    lines = [] if applied.splits is None else split_rule_lines(applied.split_by)
    lines += [
        *balance_lines(plan.splits, features_of(plan.schema)),
        classes_line(plan.classes),
        *_rejected_lines(plan, limit),
    ]
    lines += ties_lines(plan.source.groups, plan.source.duplicates)
    if plan.layout_reasons:
        lines += ["", "Why this layout:", *(f"  {reason}" for reason in plan.layout_reasons)]
    lines += reasons_lines([split.reasons for split in plan.splits]) if explain else []
    lines += hint_lines(plan.findings)
    shares = shares_parts(plan.splits, plan.classes, applied.splits, applied.splits_of)
    read = map(Paragraph, reading_lines(plan))
    splits = splits_table(plan.splits, "source\nbytes")
    return Group("", reading_picture(plan), *read, "", splits, *shares, "", *map(Paragraph, lines))


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


def shares_parts(
    rows: Sequence[Row],
    classes: Sequence[str],
    wanted: Mapping[str, Fraction] | None,
    splits_of: Sequence[str] = (),
) -> list[Table | Text | str]:
    """Return the parts of a summary that show the shares; none for a single split.

    `wanted` is None for the source's own splits. With `splits_of`, splits that were not divided have no share.
    """
    divided = [row for row in rows if wanted is None or row.name in wanted]
    names = [row.name for row in divided]
    if len(names) < 2:
        return []
    # float64[1 + number of classes, number of splits]: all images in the first row.
    counts = np.array([[row.num_examples, *row.class_counts] for row in divided], np.int64).T
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
    """Return the classes to list and the others, each in label order, by how far each is from the wanted share."""
    if len(offs) <= CLASSES_LISTED:
        return list(range(len(offs))), []
    by_size = np.argsort(-offs, kind="stable").tolist()
    return sorted(by_size[:WORST_LISTED]), sorted(by_size[WORST_LISTED:])


def append_summary(outcome: "AppendOutcome", dataset: str) -> Group:
    """Return what `append` prints: the generations, the dataset in total, new classes, and the old digest."""
    manifest = outcome.manifest
    rows = rows_of(manifest)
    parts: list[Table | Paragraph | str] = ["", *generations_part(manifest), "In total:", splits_table(rows, "bytes")]
    lines = [
        "",
        *balance_lines(rows, manifest.features, manifest.generations, dataset),
        *_new_classes_lines(outcome),
        classes_line(manifest.classes),
    ]
    if not outcome.unchanged:
        generation = manifest.history[-1]
        lines += ties_lines(None, generation.source.duplicates)
        lines += left_out_lines(generation.source.skipped)
        if generation.rejected.num_examples:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in generation.rejected.by_reason.items())
            listed = f"`shardkit info {printable(shlex.quote(dataset))} --rejected`"
            lines.append(f"rejected: {reasons} (listed by {listed})")
        before = f", {counted(outcome.finished_before, 'shard')} finished before" if outcome.finished_before else ""
        lines.append(f"{outcome.seconds:.1f} s{before}")
        lines.append(f"the dataset from before stays readable as {dataset}@sha256:{generation.previous}")
    lines += hint_lines(outcome.findings)
    exports = map(Verbatim, old_exports_lines(manifest.root, manifest, dataset))
    return Group(*parts, *map(Paragraph, lines), *exports, *next_steps(manifest, dataset))


def nothing_new_line(outcome: "AppendOutcome", dataset: str, source: str) -> str:
    """Return the sentence about an append that has nothing to add."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in outcome.left_out.items())
    return f"{source} has nothing new for {dataset} ({kinds}){_readmit_hint(outcome.left_out)}; nothing to do"


def left_out_lines(skipped: Mapping[str, int]) -> list[str]:
    """Return a line with the number of images that the dataset has or had; no line if there are none."""
    kinds = [f"{skipped[kind]:,} {kind}" for kind in LEFT_OUT if skipped.get(kind)]
    return [f"left out: {', '.join(kinds)}{_readmit_hint(skipped)}"] if kinds else []


def _readmit_hint(counts: Mapping[str, int]) -> str:
    return "; --readmit takes in what was removed" if counts.get(WITHDRAWN) else ""


def _new_classes_lines(outcome: "AppendOutcome") -> list[str]:
    if outcome.unchanged or len(outcome.manifest.history) < 2:
        return []
    before, last = outcome.manifest.history[-2:]
    new = list(enumerate(outcome.manifest.classes[before.num_classes : last.num_classes], before.num_classes))
    if not new:
        return []
    shown = first_of([f"{name!r} is label {label}" for label, name in new], NEW_CLASSES_SHOWN)
    return [f"{counted(len(new), 'new class')}: {shown}; a model needs {counted(len(new), 'more output')}"]
