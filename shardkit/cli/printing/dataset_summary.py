"""The summary of a dataset that `info` prints. It needs the base install only, but for the values of masks."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.table import Table

from shardkit.cli.printing.lines import Paragraph, table
from shardkit.cli.printing.splits_table import balance_lines, rows_of, splits_table
from shardkit.dataset.features import CLASS_LABELS, LABEL, LABELS, MASK, OBJECT_LABELS
from shardkit.dataset.manifest import Balance, Manifest
from shardkit.dataset.rejected_list import read_rejected
from shardkit.errors import DataError, MissingExtraError
from shardkit.extras import require_extra
from shardkit.images import BadImage
from shardkit.layouts import DATASET_LAYOUT
from shardkit.naming import counted, first_of, printable
from shardkit.options.words import shown
from shardkit.sources.listing import NEGATIVES
from shardkit.statistics.annotations import QUANTILES, box_statistics, mask_statistics, number_quantiles
from shardkit.statistics.indexes import IndexStatistics, Span, index_statistics, read_annotations

KINDS_SHOWN = 12  # of skipped files
CLASSES_LISTED = 40  # in a table
SAMPLE = 1000  # examples whose annotations are read
MASK_SAMPLE = 200  # masks that are decoded
Part = Table | Paragraph | str


def info_summary(manifest: Manifest, dataset: str) -> Group:
    """Return what `info` prints."""
    source, features = manifest.source, manifest.features
    statistics = index_statistics(manifest, MASK_SAMPLE if MASK in features else SAMPLE)
    head = f"{manifest.root.url}: dataset {manifest.name!r}, format {manifest.format_version}, from {source.layout}"
    rows = rows_of(manifest)
    where = [Paragraph(f"records: {records}")] if (records := manifest.records_place) else []
    parts: list[Part] = [Paragraph(head), *where, "", splits_table(rows, "bytes")]
    lines = balance_lines(rows, features, manifest.generations, dataset)
    parts += map(Paragraph, ["", *lines] if lines else [])
    parts += [*_classes_part(manifest, dataset), *_annotation_parts(manifest, statistics), *_sizes_part(statistics), ""]
    lines = [_changes_line(statistics), *gps_lines(manifest), rejected_line(manifest, dataset)]
    lines += [*withdrawn_lines(manifest), *ties_lines(source.groups, source.duplicates), f"digest: {manifest.digest}"]
    parts += generations_part(manifest)
    return Group(*parts, *map(Paragraph, lines))


def _classes_part(manifest: Manifest, dataset: str) -> list[Part]:
    if not manifest.classes or MASK in manifest.features:  # the classes of masks are not counted
        return []
    is_list = manifest.features.get(LABELS) == CLASS_LABELS or OBJECT_LABELS in manifest.features
    made = table("images with" if is_list else "class", *manifest.splits)
    totals = [sum(counts) for counts in zip(*(split.class_counts for split in manifest.splits.values()), strict=True)]
    used = sum(map(bool, totals))
    first, last, num_between = _classes_listed(totals)
    for labels in (first, last):
        for label in labels:
            name = _quoted(manifest.classes[label])
            made.add_row(name, *(f"{split.class_counts[label]:,}" for split in manifest.splits.values()))
        if labels is first and num_between:
            made.add_row(f"… {num_between:,} more")
    if len(first) + len(last) == len(totals):
        return ["", made]
    head = f"the {len(first):,} largest and the {len(last):,} smallest of {used:,} classes with images:"
    heads = [head if last else f"the {counted(used, 'class')} with images:"]
    unused = [f"classes without any image: {len(totals) - used:,}"] if used < len(totals) else []
    every = f"all {len(totals):,} classes: shardkit info {printable(shlex.quote(dataset))} --json"
    return ["", *map(Paragraph, heads), made, *map(Paragraph, [*unused, every])]


def _classes_listed(totals: Sequence[int]) -> tuple[Sequence[int], Sequence[int], int]:
    """Return the labels of the first and of the last classes to list, and the number of those between with images.

    All are listed in label order, or of many the largest and the smallest with images.
    """
    if len(totals) <= CLASSES_LISTED:
        return range(len(totals)), (), 0
    used = sorted((label for label, total in enumerate(totals) if total), key=lambda label: -totals[label])
    if len(used) <= CLASSES_LISTED:
        return used, (), 0
    half = CLASSES_LISTED // 2
    return used[:half], used[-half:], len(used) - 2 * half


def _annotation_parts(manifest: Manifest, statistics: IndexStatistics) -> list[Part]:
    features = manifest.features
    if OBJECT_LABELS in features:
        return [*_unlabelled_lines(statistics, "boxes"), *_box_parts(manifest, statistics)]
    if LABELS in features and statistics.labels_per_image is not None:
        return [*_unlabelled_lines(statistics, "labels"), _paragraph("labels per image", statistics.labels_per_image)]
    if MASK in features:
        return _mask_parts(manifest, statistics)
    if LABEL in features and not manifest.classes and statistics.sample:
        return _number_parts(manifest, statistics)
    return []


def _unlabelled_lines(statistics: IndexStatistics, what: str) -> list[Part]:
    """Return the line about images without labels or boxes; a blank line before it."""
    total = sum(statistics.unlabelled.values())
    where = ", ".join(f"{count:,} in {split}" for split, count in statistics.unlabelled.items() if count)
    found = f"{total:,} ({where})" if total and len(statistics.unlabelled) > 1 else f"{total:,}"
    return ["", Paragraph(f"images without {what}: {found}")]


def _paragraph(what: str, span: Span) -> Paragraph:
    return Paragraph(f"{what}: {span.low:,} to {span.high:,}, median {span.median:,}")


def _box_parts(manifest: Manifest, statistics: IndexStatistics) -> list[Part]:
    boxes = box_statistics(read_annotations(manifest, statistics.sample, OBJECT_LABELS))
    if boxes.per_image is None:
        return []
    made = table("boxes", "images", "boxes", "fewest\nper image", "median\nper image", "most\nper image")
    by_class = sorted(boxes.by_class.items())
    for label, one in by_class[:CLASSES_LISTED]:
        span = [f"{count:,}" for count in one.per_image]
        name = _quoted(manifest.classes[label]) if 0 <= label < len(manifest.classes) else f"label {label}"
        made.add_row(name, f"{one.num_images:,}", f"{one.num_boxes:,}", *span)
    if len(by_class) > CLASSES_LISTED:
        made.add_row(f"… {len(by_class) - CLASSES_LISTED:,} more")
    every = [f"{count:,}" for count in boxes.per_image]
    made.add_row("all", f"{boxes.num_images:,}", f"{boxes.num_boxes:,}", *every)
    return [Paragraph(_sampled("boxes", manifest, boxes.num_images)), "", made]


def _mask_parts(manifest: Manifest, statistics: IndexStatistics) -> list[Part]:
    try:
        require_extra("convert", "decoding masks")
    except MissingExtraError as error:
        return ["", Paragraph(f"values of the masks: not shown; {error}")]
    try:
        masks = mask_statistics(read_annotations(manifest, statistics.sample, MASK))
    except BadImage as error:
        raise DataError(f"{manifest.root.url}: {error} Run `shardkit verify` on the dataset") from None
    made = table("mask value", "images", "pixels")
    total = sum(masks.pixels.values())
    for value in list(masks.pixels)[:CLASSES_LISTED]:
        known = manifest.classes[value] if value < len(manifest.classes) else str(value)
        name = "" if known == str(value) else f" {_quoted(known)}"
        made.add_row(f"{value}{name}", f"{masks.num_with[value]:,}", f"{masks.pixels[value] / total:.2%}")
    if len(masks.pixels) > CLASSES_LISTED:
        made.add_row(f"… {len(masks.pixels) - CLASSES_LISTED:,} more")
    return ["", Paragraph(_sampled("values of the masks", manifest, masks.num_masks)), "", made]


def _number_parts(manifest: Manifest, statistics: IndexStatistics) -> list[Part]:
    quantiles = number_quantiles(read_annotations(manifest, statistics.sample, LABEL))
    heads = ["smallest" if share == 0 else "largest" if share == 1 else f"{share:.0%}" for share in QUANTILES]
    made = table("label", *heads)
    for i, row in enumerate(quantiles[:CLASSES_LISTED].tolist()):
        made.add_row(f"[{i}]" if len(quantiles) > 1 else "number", *(f"{value:.6g}" for value in row))
    return ["", Paragraph(_sampled("range and quantiles", manifest, len(statistics.sample))), "", made]


def _sampled(what: str, manifest: Manifest, num_read: int) -> str:
    total = sum(split.num_examples for split in manifest.splits.values())
    of_what = f"all {total:,}" if num_read == total else f"{num_read:,} evenly spaced of {total:,}"
    return f"{what}, counted in {of_what} images:"


def _sizes_part(statistics: IndexStatistics) -> list[Part]:
    made = table("pixels", "smallest", "median", "largest")
    for side, span in (("width", statistics.width), ("height", statistics.height)):
        if span is not None:
            made.add_row(side, *(f"{value:,}" for value in span))
    return ["", made]


def _changes_line(statistics: IndexStatistics) -> str:
    changes = ", ".join(f"{number:,} {change}" for change, number in statistics.changes.items())
    return f"changed for storage: {changes or 'none'}"


def gps_lines(manifest: Manifest) -> list[str]:
    """Return a line with the number of stored images that have a GPS position, if there are any."""
    number = manifest.num_with_gps
    if not number:
        return []
    have = "has a GPS position" if number == 1 else "have GPS positions"
    return [f"GPS: {counted(number, 'image')} {have} in the metadata; `convert --strip-metadata` removes them"]


def _quoted(name: str) -> str:
    return printable(repr(name))


def rejected_line(manifest: Manifest, dataset: str) -> str:
    """Return a line with the number of rejected images by reason, and of skipped files by type."""
    by_reason = ", ".join(f"{count:,} {reason}" for reason, count in manifest.rejected.by_reason.items())
    listed = f"`shardkit info {printable(shlex.quote(dataset))} --rejected`"
    line = f"rejected: {by_reason} (listed by {listed})" if by_reason else "rejected: none"
    note = earlier_rejects_note(manifest)
    return line + skipped_text(manifest.source.skipped) + (f"; {note}" if note else "")


def withdrawn_lines(manifest: Manifest) -> list[str]:
    """Return a line with the number of examples that were removed and stay out, if there are any."""
    number = manifest.withdrawn
    if not number:
        return []
    stay = "stays" if number == 1 else "stay"
    return [f"removed: {counted(number, 'image')} that `convert --drop` removed {stay} out of later appends"]


def earlier_rejects_note(manifest: Manifest) -> str:
    """Return where the rejected files are listed of the dataset that this one was made from; '' if it was not."""
    if manifest.source.layout != DATASET_LAYOUT:
        return ""
    return "files that were rejected when the source dataset OLD was made: `shardkit info OLD --rejected`"


def skipped_text(skipped: Mapping[str, int]) -> str:
    """Return the end of the line about rejected images: the number of skipped files by type."""
    kinds = [f"{count:,} {shown(kind)}" for kind, count in skipped.items() if kind != NEGATIVES]  # a finding has these
    return f"; skipped: {first_of(kinds, KINDS_SHOWN, more='more kinds')}" if kinds else ""


def ties_lines(groups: int | None, duplicates: int | None) -> list[str]:
    """Return lines with the number of groups and of exact duplicates, if there are any."""
    lines = [] if groups is None else [f"groups: {groups:,}"]
    if duplicates:
        have = "has" if duplicates == 1 else "have"
        lines.append(f"exact duplicates: {counted(duplicates, 'image')} {have} the same bytes as another image")
    return lines


def rejected_rows(manifest: Manifest) -> list[dict[str, Any]]:
    """Return everything that was left out: key, reason, message and source_bytes of each; see read_rejected."""
    rows: list[dict[str, Any]] = read_rejected(manifest).to_pylist()
    return rows


def rejected_line_of(row: dict[str, Any]) -> str:
    """Return the line that `info --rejected` prints for a rejected image."""
    return printable(f"{row['key']}: {row['reason']}: {shown(row['message'])}")


def generations_part(manifest: Manifest) -> list[Table | str]:
    """Return the table of the balance over all generations and in each, and a blank line; nothing for a single one."""
    if not manifest.generations:
        return []
    made = table("generation", "split", "shards", "examples", "count\nspread", "class\nspread", "bytes\nspread")
    made.columns[1].justify = "left"
    whole = [(name, len(one.shards), one.num_examples, one.balance) for name, one in manifest.splits.items()]
    _add_rows(made, "all", whole)
    for one in manifest.generations:
        splits = [(name, part.num_shards, part.num_examples, part.balance) for name, part in one.splits.items()]
        _add_rows(made, one.folder or "(first)", splits)
    return [made, ""]


def _add_rows(made: Table, generation: str, splits: Iterable[tuple[str, int, int, Balance]]) -> None:
    for split, num_shards, num_examples, balance in splits:
        counts = (f"{num_shards:,}", f"{num_examples:,}", f"{balance.count_spread:,}", f"{balance.class_spread:,}")
        made.add_row(generation, split, *counts, f"{balance.bytes_spread:,.1%}")
        generation = ""
