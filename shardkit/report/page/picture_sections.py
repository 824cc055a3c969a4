"""The sections with pictures: contact sheets, duplicates, rejected files."""

import base64
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shardkit.naming import counted
from shardkit.options.words import named, shown
from shardkit.report.collection import Collection, Picture, total_class_counts
from shardkit.report.facts.gathering import Facts
from shardkit.report.facts.repeated import SETS_SHOWN, Sets
from shardkit.report.page.parts import Section, Sheet, SheetGroup, Table, Thumbnail, cut, percent

if TYPE_CHECKING:
    from PIL.Image import Image


SIDE, ANNOTATED_SIDE = 176, 288  # pixels of a thumbnail; boxes and masks need more
_ANNOTATED_OF_CLASS = 4  # pictures of a class, of the larger ones
_REJECTED_PICTURES = 24
_FEW_CLASSES = 12  # all contact sheets are unfolded
_LABEL_LENGTH = 40  # in the title of a set of images
MAX_PICTURE_BYTES = 5 << 19  # 2.5 MiB of data URIs, of the page's 5 MB
_QUALITY = 72
_ZOOM = 1.6  # pixels of a picture to a CSS pixel: sharp on phones, and half the bytes of 2


class Thumbnails:
    """Makes thumbnails until their total size is used up.

    Attributes:
        num_left_out: Number of pictures without a thumbnail for want of space.
        num_unreadable: Number of examples that could not be read.
    """

    def __init__(self, max_bytes: int = MAX_PICTURE_BYTES) -> None:
        self._left = max_bytes
        self.num_left_out = self.num_unreadable = 0

    def of_example(self, picture: Picture, *, with_labels: bool = True) -> Thumbnail:
        """Return the thumbnail of an example: its split and size, its labels if wanted, and its key."""
        name = cut(picture.key)
        width, height = picture.size
        title = cut(picture.labels) if with_labels else ""
        size = f" · {width} x {height}" if width else ""
        lines = [f"{picture.split}{size}", cut(picture.key.rpartition("/")[2])]
        if picture.problem:
            self.num_unreadable += 1
            return Thumbnail("", "", 0, 0, name, title, [*lines, cut(picture.problem, 400)])
        shown = f"{cut(picture.labels)}: {name}" if picture.labels else name
        return self._of(picture.image, shown, name, title, lines)

    def of_file(self, image: "Image | None", title: str, lines: list[str]) -> Thumbnail:
        """Return the thumbnail of a file; without a picture if it does not open."""
        return self._of(image, title, title, title.rpartition("/")[2], lines)

    def _of(self, image: "Image | None", alt: str, key: str, title: str, lines: list[str]) -> Thumbnail:
        src = "" if image is None else data_uri(image)
        if image is None or len(src) > self._left:
            self.num_left_out += bool(src)
            return Thumbnail("", "", 0, 0, key, title, lines)
        self._left -= len(src)
        width, height = (max(1, round(side / _ZOOM)) for side in image.size)
        return Thumbnail(src, alt, width, height, key, title, lines)


def contact_sheets(facts: Facts, collection: Collection, thumbnails: Thumbnails) -> Section:
    """Return the section with a contact sheet for each class shown, or one of all examples without classes."""
    is_annotated = facts.boxes is not None or facts.masks is not None
    limit = _ANNOTATED_OF_CLASS if facts.boxes is not None and facts.groups else None
    chosen = {label: _spread(numbers, limit) for label, numbers in facts.chosen.items()}
    side = ANNOTATED_SIDE if is_annotated else SIDE
    numbers = sorted({number for one in chosen.values() for number in one})
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
                made_one = thumbnails.of_example(pictures[numbers[turn]], with_labels=with_labels)
                if thumbnails.num_left_out == before:
                    made[label].append(made_one)
    return made


def conflicts_section(facts: Facts, collection: Collection, thumbnails: Thumbnails) -> Section:
    """Return the section with candidates for wrong labels: the same bytes with different labels, side by side."""
    found = facts.counted.conflicts
    if found is None:
        intro = f"Not checked: contents are not known with {named('check', 'header')}."
    elif not facts.groups and facts.numbers is not None and facts.is_dataset:
        intro = "Not checked: the indexes of a dataset with numbers as labels do not hold the numbers."
        found = None
    elif not found.num:
        intro = "No two images with the same bytes have different labels."
    else:
        intro = (
            f"{counted(found.num, 'image')} with exact duplicates that have different labels. At least one is wrong."
        )
    groups = _sets(found, collection, thumbnails, _labels_of) if found is not None else []
    near = facts.counted.near_conflicts
    if near is None:
        intro += " There are too many images to search for near-identical ones with different labels."
    elif near.num:
        have = "has" if near.num == 1 else "have"
        intro += f" {counted(near.num, 'set')} of near-identical images {have} different labels: one may be wrong."
        groups += _sets(near, collection, thumbnails, _labels_of, "near-identical sets")
    is_cut = any(one is not None and one.num > len(one.shown) for one in (found, near))
    listing = collection.origin.conflicts_listing if is_cut else ""
    intros = [intro, "All of them are listed by:"] if listing else [intro]
    return Section("conflicts", "Candidates for wrong labels", intros, groups=groups, code=listing)


def leaks_section(facts: Facts, collection: Collection, thumbnails: Thumbnails) -> Section:
    """Return the section with images and groups that are in several splits."""
    found, groups = facts.counted.leaks, facts.counted.group_leaks
    if len(facts.splits) < 2:
        return Section("leaks", "Leaks between splits", ["There is one split only."])
    intro = []
    if found is None:
        intro.append(f"Not checked: contents are not known with {named('check', 'header')}.")
    elif found.num:
        intro.append(f"{counted(found.num, 'image')} with exact duplicates in another split.")
    else:
        intro.append("No two splits have an image with the same bytes.")
    if groups.num:
        intro.append(f"{counted(groups.num, 'group')} with images in more than one split.")
    sheets = _sets(found, collection, thumbnails, _splits_of) if found is not None else []
    sheets += _sets(groups, collection, thumbnails, _splits_of, "groups")
    listing = ""
    if any(one.num > len(one.shown) for one in (found, groups) if one is not None):
        listing = collection.origin.leaks_listing
        intro.append("All of them are listed by:")
    return Section("leaks", "Leaks between splits", intro, groups=sheets, code=listing)


def _sets(
    found: Sets,
    collection: Collection,
    thumbnails: Thumbnails,
    title: Callable[[Sequence[Picture]], str],
    noun: str = "sets",
) -> list[SheetGroup]:
    if not found.shown:
        return []
    flat = np.array([number for one in found.shown for number in one], np.int64)
    pictures = iter([*collection.pictures(flat, SIDE)])
    sheets = []
    for one in found.shown:
        members = [next(pictures) for _ in one]
        sheets.append(
            Sheet(title(members), counted(len(one), "image"), [thumbnails.of_example(member) for member in members])
        )
    heading = f"{counted(found.num, noun.removesuffix('s'))} of images"
    if found.num > len(sheets):
        heading += f", the first {SETS_SHOWN}"
    return [SheetGroup(heading, sheets, is_open=True)]


def _labels_of(members: Sequence[Picture]) -> str:
    """Return what contradicts: "dog ≠ fish"."""
    labels = ["unreadable" if one.problem else cut(one.labels, _LABEL_LENGTH) or "no label" for one in members]
    return " ≠ ".join(dict.fromkeys(labels))


def _splits_of(members: Sequence[Picture]) -> str:
    """Return the splits that share an image or a group: "train and test"."""
    return " and ".join(dict.fromkeys(member.split for member in members))


def rejected_section(facts: Facts, collection: Collection, thumbnails: Thumbnails) -> Section:
    """Return the section with the rejected files, their reasons, and their pictures if they open."""
    rejects = facts.rejects
    if not rejects.num_rejected:
        return Section("rejected", "Rejected files", ["No file was rejected." if facts.is_dataset else "None."])
    opened: list[Thumbnail] = []
    for one in rejects.first:
        if len(opened) >= _REJECTED_PICTURES:
            break
        image = collection.rejected_picture(one.key, SIDE)
        if image is not None:
            opened.append(thumbnails.of_file(image, cut(one.key), [one.reason]))
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


def data_uri(image: "Image") -> str:
    """Return a picture as a data URI."""
    out = io.BytesIO()
    image.convert("RGB").save(out, "WEBP", quality=_QUALITY, method=4)
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"
