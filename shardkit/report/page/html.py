"""The page about a dataset or a source: its sections, and all warnings, the most serious first."""

from collections.abc import Sequence
from typing import NamedTuple

from shardkit.conversion.planning.checks.finding import Finding
from shardkit.naming import counted
from shardkit.parallel.progress import ProgressListener, Silent
from shardkit.report.advice.classes import (
    absent_classes,
    differing_shares,
    small_and_large_classes,
    unused_classes,
)
from shardkit.report.advice.contents import (
    finding_advice,
    gps_positions,
    rejected_files,
    repeated_images,
    unreadable_pictures,
)
from shardkit.report.advice.speed import costly_jpegs, few_shards, large_images, uneven_shards
from shardkit.report.advice.warning import Advice
from shardkit.report.collection import Collection
from shardkit.report.facts.gathering import Facts, ReportOptions, gather_facts
from shardkit.report.page.annotation_sections import annotation_sections
from shardkit.report.page.class_table import class_table
from shardkit.report.page.copies_sections import conflicts_section, leaks_section
from shardkit.report.page.parts import Section, about_size
from shardkit.report.page.picture_sections import contact_sheets, rejected_section
from shardkit.report.page.sections import (
    classes_section,
    origin_section,
    sizes_section,
    storage_section,
)
from shardkit.report.page.shards_section import shards_section
from shardkit.report.page.template import render
from shardkit.report.page.thumbnails import Thumbnails


class Page(NamedTuple):
    """A page: its HTML, the warnings on it, and the facts that it shows."""

    html: str
    advice: list[Advice]
    facts: Facts


def make_page(collection: Collection, options: ReportOptions, listener: ProgressListener | None = None) -> Page:
    """Return the page about a collection.

    Args:
        collection: A dataset, or a source with its plan.
        options: What the report needs to know about the training.
        listener: Receives the progress; None for nobody.

    Raises:
        DataError: An index or a record is missing or damaged.
        MachineError: The disk or the network failed.
    """
    listener = listener or Silent()
    num_examples = sum(split.num_examples for split in collection.splits)
    with listener.phase("reading", num_examples) as show:
        facts = gather_facts(collection, options, show)
    thumbnails = Thumbnails()
    with listener.phase("drawing", None):
        sections = make_sections(collection, facts, thumbnails)
    unreadable = unreadable_pictures(thumbnails.num_unreadable, is_dataset=collection.is_dataset)
    advice = [*unreadable, *advise(facts, collection.findings)]
    return Page(render_page(collection, facts, advice, sections), advice, facts)


def make_sections(collection: Collection, facts: Facts, thumbnails: Thumbnails) -> list[Section]:
    """Return the sections in the order of the page."""
    # First the few pictures that show what is wrong: contact sheets get the space that is left.
    conflicts = conflicts_section(facts, collection, thumbnails)
    leaks = leaks_section(facts, collection, thumbnails)
    rejected = rejected_section(facts, collection, thumbnails)
    classes = classes_section(facts)
    return [
        *([classes] if classes else []),
        contact_sheets(facts, collection, thumbnails),
        *annotation_sections(facts),
        sizes_section(facts),
        storage_section(facts),
        conflicts,
        leaks,
        rejected,
        shards_section(facts),
        origin_section(collection.origin, is_dataset=collection.is_dataset),
    ]


def render_page(collection: Collection, facts: Facts, advice: Sequence[Advice], sections: Sequence[Section]) -> str:
    """Return the HTML of a page."""
    has_table = any(section.has_class_table for section in sections)
    return render(
        title=collection.title,
        kicker="report · dataset" if collection.is_dataset else "report · source, before its conversion",
        place=collection.place,
        tiles=_tiles(facts),
        sections=sections,
        advice=advice,
        table=class_table(facts.classes, facts.splits, facts.chosen) if has_table else None,
    )


def _tiles(facts: Facts) -> list[tuple[str, str, str]]:
    """Return the figures at the top: number, name, detail."""
    splits = facts.splits
    shards = sum(len(split.shard_counts) for split in splits)
    num_bytes = about_size(sum(split.num_bytes for split in splits))
    by_split = " · ".join(f"{split.num_examples:,} {split.name}" for split in splits[:4])
    tiles = [(f"{facts.num_examples:,}", "images", by_split if len(splits) != 1 else f"all in “{splits[0].name}”")]
    if len(facts.classes):
        tiles.append((f"{len(facts.classes):,}", "class" if len(facts.classes) == 1 else "classes", ""))
    tiles.append((num_bytes, "in shards" if facts.is_dataset else "in files", counted(shards, "shard")))
    rejected = facts.rejects.num_rejected
    tiles.append((f"{rejected:,}", "rejected", f"of {counted(facts.rejects.num_files, 'file')}"))
    return tiles


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
