"""The sections about classes, image sizes, storage, shards, and how everything was made."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shardkit.conversion.planning.checks.classes import share_of_classes
from shardkit.dataset.features import LABEL, LABELS
from shardkit.dataset.unlabelled import unlabelled_text
from shardkit.images.info import CHANGES
from shardkit.naming import counted
from shardkit.options.words import flag_of, named, shell_command, shown
from shardkit.report.advice.speed import megapixels
from shardkit.report.charts.bars import Bar, bar_chart
from shardkit.report.charts.distributions import Line, histogram
from shardkit.report.charts.maps import size_map
from shardkit.report.collection import Origin, Split, total_class_counts
from shardkit.report.facts.bins import ASPECTS, BYTES, occupied
from shardkit.report.facts.gathering import Facts
from shardkit.report.facts.jpegs import CURVE, image_ms, speedup
from shardkit.report.page.parts import Chart, Section, Table, about_size, cut, of_sample, percent, size_text

BARS_SHOWN = 30  # classes; the others are one bar
SPLITS_SHOWN = 4  # with charts of their own
_WORTH_SAYING = 1.05  # times faster
_BYTES_PER_BIN = 4  # of BYTES that are one bin of the chart
_ASPECT_TICKS = ((1 / 4, "1:4"), (1 / 3, "1:3"), (1 / 2, "1:2"), (2 / 3, "2:3"), (1, "1:1"), (3 / 2, "3:2"), (2, "2:1"))
_ASPECT_TICKS_WIDE = ((3, "3:1"), (4, "4:1"))


def classes_section(facts: Facts) -> Section | None:
    """Return the section with the classes of each split; None without classes."""
    classes, splits = facts.classes, facts.splits
    totals = total_class_counts(splits)
    if not len(classes) or not totals.any():
        return None
    order = np.argsort(-totals, kind="stable")[: int((totals > 0).sum())]  # those with images
    relation = "with" if facts.has_lists or facts.boxes is not None else "of"
    used = totals[order]
    largest, smallest = int(order[0]), int(order[-1])
    what = f"{counted(len(used), 'class')}{' with images' if len(used) < len(classes) else ''}"
    if used.min() == used.max():
        intro = [f"{what}, each with {counted(int(used.max()), 'image')}."]
    else:
        low, high = (f"{counted(int(num), 'image')} {relation}" for num in (used.min(), used.max()))
        extremes = f"from {low} “{cut(classes[smallest])}” to {high} “{cut(classes[largest])}”"
        intro = [f"{what}: {extremes}; the median class has {int(np.median(used)):,}."]
    if len(used) > BARS_SHOWN:
        half = int(np.searchsorted(np.cumsum(used), totals.sum() / 2)) + 1
        intro.append(f"The {counted(half, 'largest class')} of these {len(used):,} hold half of the images.")
    if len(used) < len(classes):
        intro.append(f"{share_of_classes(len(classes) - len(used), len(classes))} no image in any split.")
    unlabelled = {split.name: split.num_unlabelled for split in splits}
    if said := unlabelled_text(unlabelled, [LABELS if facts.has_lists else LABEL]):
        intro.append(f"{said}.")
    charts = [_class_bars(classes, split, order, number) for number, split in enumerate(splits[:SPLITS_SHOWN])]
    return Section("classes", "Classes", intro, charts, has_class_table=True)


def _class_bars(classes: Sequence[str], split: Split, order: npt.NDArray[np.intp], number: int) -> Chart:
    counts, num = split.class_counts, max(1, split.num_examples)
    shown, rest = order[:BARS_SHOWN], order[BARS_SHOWN:]
    if len(rest) == 1:
        shown, rest = order, rest[:0]
    bars = [
        Bar(classes[label], counts[label], f"{counts[label]:,} · {percent(counts[label] / num)}")
        for label in shown.tolist()
    ]
    note = ""
    if len(rest):
        mean = counts[rest].mean()
        bars.append(Bar(f"{len(rest):,} others", float(mean), f"{mean:,.1f} each", is_rest=True))
        note = f"The {len(rest):,} smaller classes have {int(counts[rest].sum()):,} images together."
    title = f"{split.name}: {counted(split.num_examples, 'image')}"
    first = classes[int(shown[0])]
    described = (
        f"Bars of the number of images of each class in {split.name}; the first is {cut(first)}. The table has all."
    )
    return Chart(title, bar_chart(f"Classes of {split.name}", described, bars, number), note)


def sizes_section(facts: Facts) -> Section:
    """Return the section with image sizes, aspect ratios and bytes of each split."""
    sizes, names = facts.counted.sizes, [split.name for split in facts.splits]
    training = (facts.options.training_height, facts.options.training_width)
    charts, rows = [], []
    for name, one in [*zip(names, sizes, strict=True)][:SPLITS_SHOWN]:
        if one.num_measured and one.width and one.height:
            described = (
                f"Widths from {one.width.low} to {one.width.high}, heights from {one.height.low} to {one.height.high}."
            )
            svg = size_map(f"Image sizes of {name}", described, one.sides, training)
            charts.append(Chart(f"{name}: width and height", svg, "Stronger colour: more images. Dotted: squares."))
    for name, one in zip(names, sizes, strict=True):
        sides = [f"{span.low:,} · {span.median:,} · {span.high:,}" if span else "–" for span in (one.width, one.height)]
        spread = [about_size(BYTES.quantile(one.image_bytes, share)) for share in (0.05, 0.5, 0.95)]
        mean = f"{one.megapixels / one.num_measured:.3g}" if one.num_measured else "–"
        rows.append([name, *sides, mean, *spread])
    if any(one.num_measured for one in sizes):
        charts.append(_aspects(facts, names))
    charts.append(_image_bytes(facts, names))
    heads = ["split", "width, px", "height, px", "megapixels", "bytes, 5%", "median", "95%"]
    note = "Sides: smallest · median · largest. Bytes of the encoded images, as quantiles within 5%."
    return Section("sizes", "Image sizes", _sizes_intro(facts), charts, [Table("Sizes by split", heads, rows, note)])


def _sizes_intro(facts: Facts) -> list[str]:
    before, after = megapixels(facts)
    if not before:
        return [f"The sizes are not known: {named('check', 'header')} opens no image. Bytes are those of the files."]
    if speedup(before, after) < _WORTH_SAYING:
        return [
            (
                f"An image has {size_text(before)} on average. Few images are larger than what random crops of "
                f"{facts.options.training_height} x {facts.options.training_width} need."
            )
        ]
    return [
        (
            f"An image has {size_text(before)} on average, and {size_text(after)} if its shorter side were at most "
            f"{facts.options.resize} pixels, which is enough for random crops of {facts.options.training_height} x "
            f"{facts.options.training_width}. On one core, training input takes about {image_ms(before):.2g} ms an "
            f"image now and {image_ms(after):.2g} ms then: {CURVE}, a curve through measured input functions."
        )
    ]


def _lines(facts: Facts, names: Sequence[str], kind: str) -> list[Line]:
    lines = [Line(name, getattr(one, kind)) for name, one in zip(names, facts.counted.sizes, strict=True)]
    if len(lines) > SPLITS_SHOWN:
        return [Line("all splits", sum((line.counts for line in lines[1:]), lines[0].counts))]
    return lines


def _legend(lines: Sequence[Line]) -> list[str]:
    return [line.name for line in lines] if len(lines) > 1 else []


def _aspects(facts: Facts, names: Sequence[str]) -> Chart:
    lines = _lines(facts, names, "aspects")
    total = np.sum([line.counts for line in lines], axis=0)
    training = facts.options.training_width / facts.options.training_height
    total[ASPECTS.numbers(np.array([training]))] += 1
    shown = occupied(total, 2)
    cut = [Line(line.name, line.counts[shown]) for line in lines]
    edges = ASPECTS.edges[shown.start : shown.stop + 1]
    ticks = (*_ASPECT_TICKS, *_ASPECT_TICKS_WIDE)
    svg = histogram(
        "Aspect ratios",
        "Share of the images by width divided by height.",
        edges,
        cut,
        "width : height",
        is_log=True,
        ticks=ticks,
        mark=(training, "training"),
    )
    return Chart("Aspect ratios", svg, "Share of the images of each split.", _legend(lines))


def _image_bytes(facts: Facts, names: Sequence[str]) -> Chart:
    lines = [
        Line(line.name, line.counts.reshape(-1, _BYTES_PER_BIN).sum(axis=1))
        for line in _lines(facts, names, "image_bytes")
    ]
    edges = BYTES.edges[::_BYTES_PER_BIN]
    shown = occupied(np.sum([line.counts for line in lines], axis=0), 1)
    cut = [Line(line.name, line.counts[shown]) for line in lines]
    ticks = [(float(1 << power), about_size(1 << power)) for power in range(4, 37)]
    octaves = max(1, (shown.stop - shown.start) // (BYTES.per_octave // _BYTES_PER_BIN) // 4)
    svg = histogram(
        "Bytes of an image",
        "Share of the images by the size of the encoded image.",
        edges[shown.start : shown.stop + 1],
        cut,
        "encoded image",
        is_log=True,
        ticks=ticks[::octaves],
    )
    return Chart("Bytes of an image", svg, "Share of the images of each split.", _legend(lines))


def storage_section(facts: Facts) -> Section:
    """Return the section with formats, JPEG encodings, GPS positions, and what normalisation changed."""
    jpegs, found, total = facts.jpegs, facts.counted, max(1, facts.num_examples)
    verb = "changed" if facts.is_dataset else "would change"
    if found.num_changed:
        share = percent(found.num_changed / total)
        rest = "" if found.num_changed == facts.num_examples else "; the others keep the bytes of the source"
        intro = [f"Normalisation {verb} {counted(found.num_changed, 'image')} ({share}){rest}."]
    else:
        intro = [f"Normalisation {verb} no image: all keep the bytes of the source."]
    changes = [
        [shown(CHANGES.get(code, code)), f"{number:,}", percent(number / total)]
        for code, number in found.changes.items()
    ]
    tables = []
    if changes:
        tables.append(Table(f"What normalisation {verb}", ["change", "images", "share"], changes))
    if found.formats:
        where = "Stored formats" if facts.is_dataset else "Formats of the source"
        rows = [[name, f"{number:,}", percent(number / total)] for name, number in found.formats.items()]
        tables.append(Table(where, ["format", "images", "share"], rows))
    if jpegs.num_jpegs:
        sampled = max(1, jpegs.num_images)
        rows = [["progressive", f"{jpegs.num_progressive:,}", percent(jpegs.progressive_share)]]
        rows += [
            [f"chroma {name}", f"{number:,}", percent(number / sampled)] for name, number in jpegs.subsampling.items()
        ]
        tables.append(Table("How JPEGs are encoded", ["encoding", "images", "share"], rows))
        if jpegs.qualities:
            middle = _median(jpegs.qualities)
            low, high = min(jpegs.qualities), max(jpegs.qualities)
            intro.append(f"Estimated JPEG quality: {low} to {high}, median {middle} (libjpeg's scale).")
    if jpegs.num_images:
        where = of_sample(jpegs.num_images, facts.num_examples)
        intro.append(f"Encodings were read from the headers of {where}.")
        if facts.num_gps is not None:
            intro.append(f"Images with a GPS position: {facts.num_gps:,}.")
        else:
            intro.append(f"Images with a GPS position among them: {jpegs.num_gps:,}.")
    return Section("jpegs", "Storage and encoding", intro, tables=tables)


def _median(counts: Mapping[int, int]) -> int:
    ends = np.cumsum(list(counts.values()))
    return list(counts)[int(np.searchsorted(ends, (ends[-1] + 1) // 2))]


def origin_section(origin: Origin, *, is_dataset: bool) -> Section:
    """Return the section that says how everything was made."""
    versions = [[name, value] for name, value in origin.versions]
    rows = [[name, value] for name, value in origin.rows]
    if origin.num_groups is not None:
        rows.append(["Groups", f"{origin.num_groups:,}"])
    if origin.num_duplicates is not None:
        rows.append(["Exact duplicates of other images", f"{origin.num_duplicates:,}"])
    if origin.skipped:
        rows.append(
            ["Skipped files", ", ".join(f"{number:,} {shown(kind)}" for kind, number in origin.skipped.items())]
        )
    intro = (
        [
            (
                "The options that decide the bytes and are not the defaults. "
                f"`{shell_command('info', flag_of('command'))}` prints the whole command, from the run log."
            )
        ]
        if is_dataset
        else ["The command that converts this source as described here:"]
    )
    title = "How it was made" if is_dataset else "How it would be made"
    tables = [
        Table("Origin", ["what", "value"], rows, is_text=True),
        Table("Software that decides the bytes", ["package", "version"], versions, is_text=True, is_folded=True),
    ]
    return Section("made", title, intro, tables=tables, code=origin.command)
