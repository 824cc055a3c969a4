"""The summary that `append` prints."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table

from shardkit.cli.printing.dataset_summary import generations_part, ties_lines
from shardkit.cli.printing.lines import Paragraph, Verbatim
from shardkit.cli.printing.next_steps import next_steps, old_exports_lines
from shardkit.cli.printing.splits_table import balance_lines, rows_of, splits_table
from shardkit.cli.printing.summary import classes_line, hint_lines
from shardkit.conversion.planning.earlier_examples import LEFT_OUT, WITHDRAWN
from shardkit.naming import counted, first_of, printable

if TYPE_CHECKING:
    from shardkit.conversion.writing.appending.append import AppendOutcome

NEW_CLASSES_SHOWN = 10


def append_summary(outcome: "AppendOutcome", dataset: str) -> Group:
    """Return what `append` prints: the generations, the dataset in total, new classes, and the old digest.

    Args:
        outcome: The result.
        dataset: DATASET as the user wrote it.
    """
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
    """Return the sentence about an append that has nothing to add.

    Args:
        outcome: The result.
        dataset: DATASET as the user wrote it.
        source: SOURCE as the user wrote it.
    """
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in outcome.left_out.items())
    return f"{source} has nothing new for {dataset} ({kinds}){_readmit_hint(outcome.left_out)}; nothing to do"


def left_out_lines(skipped: Mapping[str, int]) -> list[str]:
    """Return a line with the number of images that the dataset has or had; no line if there are none.

    Args:
        skipped: Number of skipped files by kind.
    """
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
