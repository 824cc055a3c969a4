"""Fill in the template, state the content security policy, and save the page."""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
from shardkit.report.page.class_table import ROWS_SHOWN, class_table
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
from shardkit.report.page.thumbnails import Thumbnails
from shardkit.software import __version__
from shardkit.storage.open_files import whole_file

if TYPE_CHECKING:
    from jinja2 import Environment
# In the list of sections at the top.
_SHORT_TITLES = {
    "conflicts": "Wrong labels?",
    "jpegs": "Storage",
    "leaks": "Leaks",
    "made": "Origin",
    "rejected": "Rejected",
    "sizes": "Sizes",
}
_OPTION = re.compile(r"(--[a-z][a-z-]*[a-z])")
_LEVELS = {"problem": "Problem", "check": "Check", "speed": "Speed"}


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
    from markupsafe import Markup

    environment = _environment()
    style, script = (_source(environment, name) for name in ("report.css", "report.js"))
    bare = [section for section in sections if section.is_bare]
    sections = [section for section in sections if not section.is_bare]
    sections_shown = {section.id for section in sections}
    table = class_table(facts.classes, facts.splits, facts.chosen) if "classes" in sections_shown else None
    return environment.get_template("report.html").render(
        title=collection.title,
        place=collection.place,
        is_dataset=collection.is_dataset,
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - a file of this package
        tiles=_tiles(facts),
        advice=advice,
        levels=_LEVELS,
        nothing_found=[sentence for section in bare for sentence in section.intro],
        sections=sections,
        links=_SHORT_TITLES,
        section_ids=sections_shown,
        table=table,
        table_json=Markup(table.json) if table else "",  # noqa: S704 - see class_table: it has no "<"
        rows_shown=ROWS_SHOWN,
        version=__version__,
    )


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def marked(text: str) -> Markup:
        """Mark options such as splits, so that no line breaks inside them."""
        parts = [escape(part) for part in _OPTION.split(text)]
        parts[1::2] = [Markup("<code>{}</code>").format(part) for part in parts[1::2]]
        return Markup("").join(parts)

    made = Environment(
        loader=PackageLoader("shardkit.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["marked"] = marked
    return made


def _source(environment: "Environment", name: str) -> str:
    """Return a file of the templates' folder as it is."""
    loader = environment.loader
    if loader is None:
        raise AssertionError
    return loader.get_source(environment, name)[0]


def _policy(style: str, script: str) -> str:
    """Return a content security policy that allows nothing but this style, this script and embedded pictures."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
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


def save_page(page: str, path: Path) -> None:
    """Write a page under a temporary name until it is whole.

    Raises:
        MachineError: The file cannot be written.
    """
    with whole_file(path, "the page") as temporary:
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace", newline="\n")


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
