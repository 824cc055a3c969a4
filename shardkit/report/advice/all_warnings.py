"""Collect all warnings."""

from collections.abc import Sequence

from shardkit.planning.checks.finding import Finding
from shardkit.report.advice.classes import (
    absent_classes,
    differing_shares,
    small_and_large_classes,
    unused_classes,
)
from shardkit.report.advice.contents import finding_advice, gps_positions, rejected_files, repeated_images
from shardkit.report.advice.speed import costly_jpegs, few_shards, large_images, uneven_shards
from shardkit.report.advice.warning import Advice
from shardkit.report.facts.gathering import Facts


def advise(facts: Facts, findings: Sequence[Finding] = ()) -> list[Advice]:
    """Return all warnings, the most serious first.

    Args:
        facts: The facts.
        findings: Findings of a plan. They replace the warnings about the same thing, because they have ready commands.
    """
    known = {finding.code for finding in findings if finding.kind == "warns"}
    found = [
        *finding_advice(findings),
        *unused_classes(facts.classes, facts.splits, is_known="class_without_image" in known),
        *absent_classes(facts.classes, facts.splits, facts.split_by, is_known="class_absent_from_split" in known),
        *small_and_large_classes(facts.classes, facts.splits),
        *differing_shares(facts.classes, facts.splits),
        *repeated_images(facts, known),
        *rejected_files(facts),
        *large_images(facts),
        *costly_jpegs(facts),
        *(() if any(finding.code == "gps_positions" for finding in findings) else gps_positions(facts)),
        *uneven_shards(facts.splits, facts.place),
        *few_shards(facts.splits, facts.hosts, is_dataset=facts.is_dataset),
    ]
    levels = ("problem", "check", "speed")
    return sorted(found, key=lambda one: levels.index(one.level))
