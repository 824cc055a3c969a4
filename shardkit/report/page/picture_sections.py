"""The sections with pictures: contact sheets and rejected files."""

from collections.abc import Sequence

import numpy as np

from shardkit.naming import counted
from shardkit.options.words import shown
from shardkit.report.collection import Collection, Picture, total_class_counts
from shardkit.report.facts.gathering import Facts
from shardkit.report.page.parts import Section, Sheet, SheetGroup, Table, Thumbnail, class_anchor, cut, percent
from shardkit.report.page.thumbnails import SMALLEST_SIDE, Thumbnails

_ANNOTATED_OF_CLASS = 4  # pictures of a class, of the larger ones
_REJECTED_PICTURES = 24


def contact_sheets(facts: Facts, collection: Collection, thumbnails: Thumbnails) -> Section:
    """Return the section with a contact sheet for each class shown, or one of all examples without classes."""
    limit = _ANNOTATED_OF_CLASS if facts.boxes is not None and facts.groups else None
    chosen = {label: _spread(numbers, limit) for label, numbers in facts.chosen.items()}
    numbers = sorted({number for one in chosen.values() for number in one})
    side = thumbnails.side_for(sum(map(len, chosen.values())))
    pictures = (
        dict(zip(numbers, collection.pictures(np.array(numbers, np.int64), side), strict=True)) if numbers else {}
    )
    made = _thumbnails_in_turn(chosen, pictures, thumbnails, with_labels=facts.has_lists or not facts.groups)
    totals, total = total_class_counts(facts.splits), max(1, facts.num_examples)
    groups = []
    for number, group in enumerate(facts.groups):
        sheets = [
            Sheet(
                cut(facts.classes[label], 80),
                f"{counted(int(totals[label]), 'image')} · {percent(totals[label] / total)}",
                made[label],
                class_anchor(label),
            )
            for label in group.labels
        ]
        groups.append(SheetGroup(f"{group.heading} ({len(sheets)})", sheets, number == 0))
    if not facts.groups:
        groups = [SheetGroup("Examples", [Sheet("", "", made.get(-1, ()))], is_open=True)]
    num_shown = sum(len(group.sheets) for group in groups)
    intro = [
        "A random choice that depends on the keys alone: the same pictures each time, also after another conversion."
    ]
    if facts.groups and num_shown < len(facts.classes):
        intro.append(f"{num_shown} of {counted(len(facts.classes), 'class')} are shown.")
    if thumbnails.num_left_out:
        intro.append(f"{counted(thumbnails.num_left_out, 'picture')} left out to keep this page small.")
    return Section("pictures", "Pictures", intro, groups=groups)


def _spread(numbers: Sequence[int], limit: int | None) -> list[int]:
    """Return evenly spaced ones of the numbers, so that all splits stay."""
    if limit is None or len(numbers) <= limit:
        return [*numbers]
    return [numbers[at * len(numbers) // limit] for at in range(limit)]


def _thumbnails_in_turn(
    chosen: dict[int, list[int]], pictures: dict[int, Picture], thumbnails: Thumbnails, *, with_labels: bool
) -> dict[int, list[Thumbnail]]:
    """Return the thumbnails of each class, the first of each class made first: if space ends, each class has some."""
    made: dict[int, list[Thumbnail]] = {label: [] for label in chosen}
    for turn in range(max(map(len, chosen.values()), default=0)):
        for label, numbers in chosen.items():
            if turn < len(numbers):
                before = thumbnails.num_left_out
                picture = pictures[numbers[turn]]
                made_one = thumbnails.of_example(picture, picture.labels if with_labels else "")
                if thumbnails.num_left_out == before:
                    made[label].append(made_one)
    return made


def rejected_section(facts: Facts, collection: Collection, thumbnails: Thumbnails) -> Section:
    """Return the section with the rejected files, their reasons, and their pictures if they open."""
    rejects = facts.rejects
    if not rejects.num_rejected:
        return Section("rejected", "Rejected files", ["No file was rejected." if facts.is_dataset else "None."])
    opened: list[Thumbnail] = []
    for one in rejects.first:
        if len(opened) >= _REJECTED_PICTURES:
            break
        image = collection.rejected_picture(one.key, SMALLEST_SIDE * 2)
        if image is not None:
            opened.append(thumbnails.of_file(image, cut(one.key), one.reason))
    share = percent(rejects.num_rejected / max(1, rejects.num_files))
    intro = [f"{rejects.num_rejected:,} of {counted(rejects.num_files, 'file')} ({share})."]
    counts = Table(
        "Rejected files by reason",
        ["reason", "files"],
        [[reason, f"{num:,}"] for reason, num in rejects.by_reason.items()],
    )
    rows = [[cut(one.key), one.reason, cut(shown(one.message), 400)] for one in rejects.first]
    more = rejects.num_rejected - len(rows)
    note = f"{more:,} more of these reasons are not listed." if more else ""
    listed = Table(
        "Why each was rejected", ["file", "reason", "message"], rows, note, is_text=True, is_folded=len(rows) > 8
    )
    groups = [SheetGroup(f"Those that open ({len(opened)})", [Sheet("", "", opened)], is_open=True)] if opened else []
    return Section("rejected", "Rejected files", intro, tables=[counts, listed], groups=groups)
