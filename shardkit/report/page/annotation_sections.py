"""The sections about boxes, masks, numbers and several labels."""

from collections.abc import Sequence

import numpy as np

from shardkit.naming import counted
from shardkit.report.charts.bars import Bar, bar_chart, shortened
from shardkit.report.charts.distributions import Line, histogram, whole_number_edges
from shardkit.report.charts.maps import place_map
from shardkit.report.facts.annotations import MAX_BOXES_COUNTED, SHOWN_NUMBERS, BoxFacts, MaskFacts, NumberFacts
from shardkit.report.facts.bins import BOX_SIDES, Counts, occupied
from shardkit.report.facts.counting import MAX_LABELS_COUNTED
from shardkit.report.facts.gathering import Facts
from shardkit.report.page.parts import Chart, Section, Table, class_link, cut, of_sample, percent
from shardkit.statistics.indexes import span_of_counts

_CLASSES_LISTED = 200
_BARS_SHOWN = 24
_MAX_NUMBER_BINS = 40
_SIDE_TICKS = tuple((share / 100, f"{share}%") for share in (1, 2, 5, 10, 20, 50, 100))


def annotation_sections(facts: Facts) -> list[Section]:
    """Return the sections about the annotations that the examples have."""
    sections = []
    if facts.boxes is not None and facts.boxes.statistics.num_images:
        sections.append(boxes_section(facts, facts.boxes))
    if facts.masks is not None and facts.masks.values.num_masks:
        sections.append(masks_section(facts, facts.masks))
    if facts.numbers is not None and len(facts.numbers.values):
        sections.append(numbers_section(facts, facts.numbers))
    if facts.has_lists:
        sections.append(labels_section(facts))
    return sections


def _class_name(classes: Sequence[str], label: int) -> str:
    return cut(classes[label]) if 0 <= label < len(classes) else f"label {label}"


def boxes_section(facts: Facts, boxes: BoxFacts) -> Section:
    """Return the section about boxes: how many, how large, where, of each class."""
    found = boxes.statistics
    mean = found.num_boxes / max(1, found.num_images)
    boxes_read = f"{found.num_boxes:,} {'box' if found.num_boxes == 1 else 'boxes'}"
    where = of_sample(found.num_images, facts.num_examples)
    empty = f"{found.num_empty:,} ({percent(found.num_empty / max(1, found.num_images))})"
    intro = [f"{boxes_read} in {where}: {mean:.1f} for each image; {empty} have none."]
    shown = slice(0, int(np.flatnonzero(boxes.per_image)[-1]) + 1)
    last = " (the last bar: that many or more)" if boxes.per_image[MAX_BOXES_COUNTED] else ""
    per_image = histogram(
        "Boxes of an image",
        f"Share of the images by their number of boxes, mean {mean:.1f}.",
        whole_number_edges(boxes.per_image[shown]),
        [Line("boxes", boxes.per_image[shown])],
        "boxes of an image",
    )
    charts = [Chart("Boxes of an image", per_image, f"Share of the images{last}.")]
    if found.num_boxes:
        sides = occupied(boxes.sides, 1)
        svg = histogram(
            "Sizes of boxes",
            "Share of the boxes by the square root of their share of the image.",
            BOX_SIDES.edges[sides.start : sides.stop + 1],
            [Line("boxes", boxes.sides[sides])],
            "side of a box, of the image's",
            is_log=True,
            ticks=_SIDE_TICKS,
        )
        charts.append(
            Chart("Sizes of boxes", svg, "Share of the boxes. The side is the square root of the area's share.")
        )
        places = place_map(
            "Places of boxes", "Where in the image the centres of boxes are; a stronger colour is more.", boxes.places
        )
        charts.append(Chart("Places of boxes", places, "Where the centres of boxes are. Stronger colour: more boxes."))
    rows = []
    by_size = sorted(found.by_class.items(), key=lambda one: (-one[1].num_boxes, one[0]))
    for label, one in by_size[:_CLASSES_LISTED]:
        side = BOX_SIDES.quantile(boxes.sides_of_class[label], 0.5)
        name = class_link(_class_name(facts.classes, label), label, facts.chosen)
        counts = [f"{one.num_images:,}", f"{one.num_boxes:,}", f"{one.per_image.median:,}", f"{one.per_image.high:,}"]
        rows.append([name, *counts, f"{min(1.0, side):.0%}"])
    heads = ["class", "images", "boxes", "per image, median", "most", "median side"]
    more = len(found.by_class) - len(rows)
    note = f"The {more:,} classes with fewer boxes are not listed." if more else ""
    table = Table("Boxes of each class", heads, rows, note, is_folded=len(rows) > _BARS_SHOWN)
    return Section("boxes", "Boxes", intro, charts, [table] if rows else [])


def masks_section(facts: Facts, masks: MaskFacts) -> Section:
    """Return the section about masks: the share of pixels of each value."""
    values = masks.values
    total = max(1, sum(values.pixels.values()))
    order = sorted(values.pixels, key=lambda value: (-values.pixels[value], value))
    names = {value: cut(facts.classes[value]) if value < len(facts.classes) else f"value {value}" for value in order}
    bars = [Bar(names[value], values.pixels[value], percent(values.pixels[value] / total)) for value in order]
    chart = bar_chart(
        "Share of pixels",
        f"Bars of the share of the pixels of each class; most are {names[order[0]]}.",
        bars[:_BARS_SHOWN],
    )
    rows = [
        [
            f"{value}" if names[value] in {str(value), f"value {value}"} else f"{value} {names[value]}",
            f"{values.num_with[value]:,}",
            percent(values.num_with[value] / values.num_masks),
            percent(values.pixels[value] / total),
        ]
        for value in order[:_CLASSES_LISTED]
    ]
    intro = [f"Counted in the masks of {of_sample(values.num_masks, facts.num_examples)}."]
    table = Table("Classes in masks", ["value", "images", "of images", "of pixels"], rows)
    return Section("masks", "Masks", intro, [Chart("Share of pixels", chart)], [table])


def numbers_section(facts: Facts, numbers: NumberFacts) -> Section:
    """Return the section about numbers for regression."""
    charts, rows = [], []
    num = numbers.values.shape[1]
    for at in range(min(num, SHOWN_NUMBERS)):
        values = numbers.values[:, at]
        counts, edges = np.histogram(values, bins=min(_MAX_NUMBER_BINS, max(5, int(len(values) ** 0.5))))
        name = f"Number {at + 1}" if num > 1 else "Label"
        svg = histogram(
            name,
            f"Share of the images by the number, from {values.min():.4g} to {values.max():.4g}.",
            edges,
            [Line(name, counts)],
            "label",
        )
        charts.append(Chart(name if num > 1 else "Labels", svg, "Share of the images."))
    for at in range(min(num, _CLASSES_LISTED)):
        values = numbers.values[:, at]
        quantiles = np.quantile(values, (0, 0.05, 0.5, 0.95, 1))
        numbers_of = [f"{value:.6g}" for value in (*quantiles, values.mean(), values.std())]
        rows.append([f"number {at + 1}" if num > 1 else "label", *numbers_of])
    intro = [f"Read from {of_sample(len(numbers.values), facts.num_examples)}."]
    heads = ["", "smallest", "5%", "median", "95%", "largest", "mean", "deviation"]
    return Section("numbers", "Labels", intro, charts, [Table("Quantiles of the labels", heads, rows)])


def labels_section(facts: Facts) -> Section:
    """Return the section about examples with several labels: how many, and which occur together."""
    counted_labels = facts.counted
    per_image: Counts = counted_labels.labels_per_image
    span = span_of_counts(per_image)
    shown = slice(0, (span.high if span else 0) + 1)
    last = " (the last bar: that many or more)" if per_image[MAX_LABELS_COUNTED] else ""
    median = span.median if span else 0
    svg = histogram(
        "Labels of an image",
        f"Share of the images by their number of labels, median {median}.",
        whole_number_edges(per_image[shown]),
        [Line("labels", per_image[shown])],
        "labels of an image",
    )
    without = int(per_image[0])
    intro = [f"{counted(without, 'image')} ({percent(without / max(1, facts.num_examples))}) without a label."]
    charts = [Chart("Labels of an image", svg, f"Share of the images{last}.")]
    tables = [_together(facts)] if len(counted_labels.paired) > 1 else []
    return Section("labels", "Several labels", intro, charts, tables)


def _together(facts: Facts) -> Table:
    pairs, paired = facts.counted.pairs, facts.counted.paired
    names = [shortened(facts.classes[label], 24) for label in paired]
    rows = []
    for row, name in enumerate(names):
        own = max(1, int(pairs[row, row]))
        shares = [percent(pairs[row, column] / own) if column != row else "–" for column in range(len(names))]
        rows.append([name, f"{own:,}", *shares])
    note = (
        f"Of the images with the label of the row, the share that has that of the column too: the {len(names)} most "
        "frequent labels."
    )
    return Table("Labels that occur together", ["label", "images", *names], rows, note)
