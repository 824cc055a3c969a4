"""Find what images lose when they are stored with 8 bits a channel as one upright picture in sRGB; and GPS positions.

Nothing of it is an error, but whoever trains on the dataset should know it. Two things stop the conversion: samples of
16 bits that use a small part of their range, which become a few levels of grey, and a step that meets all images of one
class and none of another, which a model learns in place of the class.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import info_of
from shardkit.conversion.planning.checks.finding import Finding, Keys, numbers_of
from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.rows import Rows
from shardkit.dataset.features import NO_LABEL
from shardkit.images.info import LOSSY
from shardkit.images.normalising import keeps_pixels
from shardkit.images.traits import FEW_LEVELS
from shardkit.naming import counted, printable
from shardkit.options.call import Change
from shardkit.options.groups import ConvertOptions, Stored
from shardkit.options.values import AUTO_SCALE
from shardkit.options.words import named
from shardkit.sources.columns import HAS_GPS

_NAMES = 3  # in a sentence
_MAX_SAMPLE = (1 << 16) - 1
_FEW_OF_ALL = 128  # of 256 levels, of all images together
_EDGE = 5  # percent of images whose ranges are left out if a few of them use all samples
# A class is met by a step if it meets nearly all of its images, and not met if it meets nearly none.
_NEARLY = 0.05
_MAX_CHANCE = 0.01  # that some class is met so by chance, with the share of the other classes
_Mask = npt.NDArray[np.bool_]
_DECIDING = ["format", "width", "height", "orientation", "changes"]


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of storing that meets some images."""

    have: str  # what its images have, as the end of a sentence
    mask: _Mask  # bool[n], the rows that it meets


def sample_range(good: Rows) -> tuple[int, int] | None:
    """Return the least and the greatest sample of all images with 16 bits a channel; None if there is none."""
    least, greatest = pc.min(good["low"]).as_py(), pc.max(good["high"]).as_py()
    return None if least is None else (least, max(greatest, least + 1))


def check_losses(good: Rows, labels: ExampleLabels, options: ConvertOptions) -> Iterator[Finding]:
    """Yield the findings; with ``check="header"``, no image was opened and nothing is known.

    A range that planning finds is in `bit_depth`.
    """
    if good.lazy_column("changes").column.null_count == len(good.table):
        if options.check == "header":
            unknown = (
                f"with {named('check', 'header')} no image was opened, so what is lost when it is stored is not known"
            )
            yield Finding("not_opened", "hints", unknown, remedy="`shardkit info OUT` counts it afterwards")
        return
    meets = _masks(good)
    steps = {
        _bit_depth: _Step("more than 8 bits a channel", meets("bit_depth")),
        _several_frames: _Step("several pages or frames", meets("animated")),
        _cmyk: _Step("CMYK colours", meets("cmyk")),
        _alpha: _Step("transparent pixels", _is_valid(good, "is_transparent")),
        _colour_profile: _Step("a colour profile other than sRGB", _is_valid(good, "profile")),
        _encoded_again: _Step("to be encoded again as JPEG", _is_encoded_again(good, meets, options)),
    }
    for describe, step in steps.items():
        if step.mask.any():
            yield describe(good, step, options)
    if labels.are_single:
        for step in steps.values():
            yield from _by_class(step, labels)


def _masks(good: Rows) -> "Callable[[str], _Mask]":
    """Return the function that finds the rows whose changes have a code."""
    column = good["changes"]
    values = [one for one in pc.unique(column.cast(pa.string())).to_pylist() if one]

    def meets(code: str) -> _Mask:
        having = [one for one in values if code in one.split(",")]
        if not having:
            return np.zeros(len(good), np.bool_)
        found: _Mask = pc.is_in(column.cast(pa.string()), pa.array(having)).to_numpy(zero_copy_only=False)
        return found

    return meets


def _is_valid(good: Rows, name: str) -> _Mask:
    found: _Mask = good[name].is_valid().to_numpy(zero_copy_only=False)
    return found


def _is_encoded_again(good: Rows, meets: "Callable[[str], _Mask]", options: ConvertOptions) -> _Mask:
    """Return the rows whose lossy images are decoded and encoded with loss again; the sizes of options aside."""
    turned = meets("orientation") | meets("cmyk") | meets("jpeg_process")
    is_jpeg: _Mask = pc.equal(good["format"].cast(pa.string()), "JPEG").to_numpy(zero_copy_only=False)
    # Transparent ones become PNG unless they are flattened.
    becomes_jpeg = ~_is_valid(good, "is_transparent") | (options.stored.background is not None)
    is_lossy: _Mask = np.any([meets(code) for code in LOSSY], axis=0)
    return (turned & is_jpeg) | (is_lossy & becomes_jpeg)


def _such_as(good: Rows, mask: _Mask) -> str:
    """Return the names of the first rows: ``such as a.png, b.png``."""
    rows = np.flatnonzero(mask)[:_NAMES]
    return f"such as {', '.join(printable(key) for key in Keys(good.lazy_column('key'), rows))}"


def _have(mask: _Mask) -> str:
    number = int(np.count_nonzero(mask))
    return f"{number:,} of {counted(len(mask), 'image')} {'has' if number == 1 else 'have'}"


def _bit_depth(good: Rows, step: _Step, options: ConvertOptions) -> Finding:
    found = f"{_have(step.mask)} {step.have}, {_such_as(good, step.mask)}"
    others = "" if step.mask.all() else "; the others have 8 and are stored as they are"
    low, high = (numbers_of(good[name].drop_null()) for name in ("low", "high"))
    scale = options.stored.scale
    if not len(low):
        return Finding("bit_depth", "warns", f"{found}: the high 8 bits are kept, and their range is not known{others}")
    if scale is not None:
        is_clipped = int(np.count_nonzero((low < scale[0]) | (high > scale[1])))
        sentence = f"{found}: the samples {scale[0]} to {scale[1]} become black to white{others}"
        if is_clipped:
            sentence += f"; {counted(is_clipped, 'image')} of them have samples beyond, which are clipped"
        return Finding(
            "bit_depth", "warns" if is_clipped or others else "hints", sentence, remedy="check a few of them"
        )
    least, most = int(low.min()), int(high.max())
    wide = most - least >> 8 >= _FEW_OF_ALL
    if wide and np.median((high >> 8) - (low >> 8) + 1) > FEW_LEVELS:
        sentence = f"{found}: the high 8 bits are kept, and the samples use {least} to {most} of {_MAX_SAMPLE}{others}"
        return Finding("bit_depth", "warns", sentence, remedy="check that both look alike" if others else "")
    changes = [Change("the same: the range that the images of SOURCE use", {"bit_depth": AUTO_SCALE})]
    if wide:  # by a few images, or each image uses another part
        least, most, changes = int(np.percentile(low, _EDGE)), int(np.percentile(high, 100 - _EDGE)), []
    most = max(most, least + 1)
    levels = counted((most >> 8) - (least >> 8) + 1, "level")
    what = "most of their samples are" if wide else "their samples are"
    meaning = f"in all of them the sample {least} becomes black and {most} white"
    return Finding(
        "narrow_bit_depth",
        "stops",
        f"{found}, and {what} {least} to {most} of {_MAX_SAMPLE}: the high 8 bits would keep {levels} of 256{others}",
        changes=(Change(meaning, {"bit_depth": f"scale={least}:{most}"}), *changes),
    )


def _several_frames(good: Rows, step: _Step, _: ConvertOptions) -> Finding:
    numbers = numbers_of(good["num_frames"].drop_null())
    how_many = "several"
    if len(numbers):
        least, most = int(numbers.min()), int(numbers.max())
        how_many = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    sentence = f"{_have(step.mask)} {how_many} pages or frames, {_such_as(good, step.mask)}: the first one is stored"
    return Finding("several_frames", "warns", sentence, remedy="to store all, write each as an image of its own")


def _cmyk(good: Rows, step: _Step, _: ConvertOptions) -> Finding:
    num_plain = int(np.count_nonzero(step.mask & ~_is_valid(good, "profile")))
    how = "" if not num_plain else f"; {num_plain:,} of them without a colour profile, so the colours are approximate"
    sentence = f"{_have(step.mask)} {step.have}, {_such_as(good, step.mask)}: RGB is stored{how}"
    return Finding("cmyk", "warns", sentence, remedy="look at one")


def _alpha(good: Rows, step: _Step, options: ConvertOptions) -> Finding:
    found = f"{_have(step.mask)} {step.have}, {_such_as(good, step.mask)}"
    if options.stored.background is not None:
        return Finding(
            "alpha", "hints", f"{found}: flattened", remedy=f"as {named('background', options.stored.background)} says"
        )
    sentence = f"{found}: alpha is stored, and the reader drops it, so that it shows the colours that are hidden"
    return Finding(
        "alpha", "warns", sentence, changes=(Change("white shows where they are transparent", {"background": "white"}),)
    )


def _colour_profile(good: Rows, step: _Step, options: ConvertOptions) -> Finding:
    names = pc.value_counts(good["profile"].drop_null().cast(pa.string())).to_pylist()
    most = sorted(names, key=lambda one: (-one["counts"], one["values"]))[:_NAMES]
    shown = ", ".join(f"{one['counts']:,} {one['values']}" for one in most)
    more = ", …" if len(names) > _NAMES else ""
    kept = num_stored(good.filter(step.mask), options.stored)
    sentence = f"{_have(step.mask)} {step.have} ({shown}{more}), {_such_as(good, step.mask)}"
    converted = int(np.count_nonzero(step.mask)) - kept
    if not kept:
        return Finding("colour_profile", "hints", sentence, remedy="the colours are converted to sRGB")
    also = f"{converted:,} are converted to sRGB, and " if converted else ""
    sentence += f": {also}{kept:,} are stored as they are, with colours that the reader takes for sRGB"
    return Finding("colour_profile", "warns", sentence, remedy="convert these to sRGB before")


def _encoded_again(good: Rows, step: _Step, options: ConvertOptions) -> Finding:
    number = counted(int(np.count_nonzero(step.mask)), "lossy image")
    sentence = f"{number}, {_such_as(good, step.mask)}, turned upright or converted"
    return Finding(
        "encoded_again", "hints", sentence, remedy=f"encoded again with {named('quality', options.stored.quality)}"
    )


def _by_class(step: _Step, labels: ExampleLabels) -> Iterator[Finding]:
    """Yield a finding if a step meets nearly all images of one class and nearly none of another.

    In small classes that happens by chance: half of the images of phones are turned, and of a thousand classes with ten
    images one has only turned ones. So such a class counts only if it is improbable: with the share of the images of
    all other classes that are met, which gets one image met and one not, all images of one of so many classes are.

    Formats that are only encoded as PNG are no step: the pixels stay. Whether the source's own formats tell its
    classes is nothing that storing adds.
    """
    if not step.mask.any() or step.mask.all():
        return
    num_classes = len(labels.classes)
    has_label = labels.strata != NO_LABEL
    totals = np.bincount(labels.strata[has_label], minlength=num_classes)[:num_classes]
    met = np.bincount(labels.strata[step.mask & has_label], minlength=num_classes)[:num_classes]
    is_all = (met >= totals * (1 - _NEARLY)) & (totals > 0)
    is_none = (met <= totals * _NEARLY) & (totals > 0)
    if not is_all.any() or not is_none.any():
        return
    rest = (met.sum() - met + 1) / (totals.sum() - totals + 2)
    chance = np.where(is_all, rest**totals, np.where(is_none, (1 - rest) ** totals, 1.0)) * np.count_nonzero(totals)
    if chance.min() >= _MAX_CHANCE:
        return
    a, b = (int(np.argmax(np.where(mask, totals, -1))) for mask in (is_all, is_none))
    share = "all" if met[a] == totals[a] else f"{met[a]:,} of"
    none = "none" if not met[b] else f"{met[b]:,}"
    first, other = (printable(repr(labels.classes[one])) for one in (a, b))
    yield Finding(
        "loss_by_class",
        "stops",
        f"{share} {counted(int(totals[a]), 'image')} of the class {first} have {step.have}, and {none} of the "
        f"{totals[b]:,} of {other}: what is lost tells the classes, and a model learns that",
        remedy="bring all images into one form first",
    )


def check_positions(good: Rows, options: ConvertOptions) -> Iterator[Finding]:
    """Yield a finding about images with GPS positions; with `--check header`, no image was opened and none is known."""
    if HAS_GPS.name not in good.column_names:
        return
    has_gps = good[HAS_GPS.name]
    num_with = 0 if has_gps.null_count == len(has_gps) else pc.sum(has_gps).as_py() or 0
    if not num_with:
        return
    form = options.stored
    have = "has a GPS position" if num_with == 1 else "have GPS positions"
    sentence = f"{num_with:,} of {counted(len(good), 'image')} {have} in the metadata"
    kept = 0 if form.strip_metadata else num_stored(good.filter(pc.fill_null(has_gps, False).to_numpy()), form)  # noqa: FBT003
    if not kept:
        strips = named("strip_metadata", True)
        remedy = f"none is stored, as asked for by {strips} or because these images are encoded again"
        yield Finding("gps_positions", "hints", sentence, remedy=remedy)
        return
    # Whether a JPEG is encoded again because of its coding is only known when it is written.
    up_to = "up to " if form.jpeg != "keep" or form.subsampling is not None else ""
    stored = "is stored with it" if kept == 1 else "are stored with them"
    yield Finding(
        "gps_positions",
        "warns",
        f"{sentence}, and {up_to}{kept:,} {stored}",
        remedy=f"before you hand the dataset on, add {named('strip_metadata', True)}, which changes no pixel",
    )


def num_stored(rows: Rows, form: Stored) -> int:
    """Return the number of images whose pixels are stored as they are in the file, counted by kind and size."""
    kinds = pa.table({name: rows[name] for name in _DECIDING})
    kinds = kinds.group_by(_DECIDING, use_threads=False).aggregate([([], "count_all")])
    return sum(row["count_all"] for row in kinds.to_pylist() if keeps_pixels(info_of(row), form))
