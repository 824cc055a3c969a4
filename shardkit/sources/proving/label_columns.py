"""Doubts about the columns of a table that labels come from."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from shardkit.naming import first_of, printable
from shardkit.sources.engine.labels.profile import are_of_single_images
from shardkit.sources.engine.splits import split_of_word, words_of
from shardkit.sources.formats.column_names import (
    LABEL_COLUMNS,
    LIKELY_LABEL_COLUMNS,
    is_called_like_classes,
    named_like,
)
from shardkit.sources.formats.tables.values import is_number
from shardkit.sources.proving.class_names import plain_name
from shardkit.sources.proving.evidence import Evidence, repeats
from shardkit.sources.readings.values import Column
from shardkit.sources.recognising.folders.split_folders import number_of_word
from shardkit.sources.walking import is_image, stem_of

# Words of columns that say where, when, by whom or how an image was made, and never what it shows.
_OF_MAKING = frozenset(
    {
        *("camera", "cam", "device", "sensor", "lens", "exposure", "iso", "kamera", "microscope", "scanner", "machine"),
        *("operator", "photographer", "collector", "recorder", "annotator", "rater", "user", "author", "inspector"),
        *("date", "time", "timestamp", "datetime", "day", "month", "year", "shift", "week", "hour", "season", "datum"),
        *("country", "city", "place", "site", "location", "station", "farm", "field", "region", "lat", "lon", "plot"),
        *("latitude", "longitude", "gps", "line", "plant", "room", "house", "shelf", "box", "drawer", "ort", "lieu"),
        *("licence", "license", "source", "url", "link", "copyright", "credit", "rights", "origin", "dataset"),
        *("comment", "comments", "note", "notes", "remark", "remarks", "text", "caption", "title", "description"),
        *("width", "height", "size", "bytes", "resolution", "format", "md5", "hash", "orientation", "rotation"),
        *(
            "sex",
            "gender",
            "view",
            "corner",
            "hospital",
            "ward",
            "vintage",
            "state",
            "province",
            "uf",
            "side",
            "laterality",
            "position",
        ),
        *(
            "modality",
            "projection",
            "follow",
            "ethnicity",
            "breeder",
            "owner",
            "customer",
            "supplier",
            "vendor",
            "team",
        ),
        *("batch", "session", "run", "lot", "serial", "patient", "subject", "donor", "visit", "scan", "slide"),
        *("operador", "fecha", "data", "annee", "jahr", "bemerkung", "anmerkung", "kommentar", "schicht", "linie"),
    }
)
# Words of columns whose whole numbers are classes, and no degrees or quantities.
_OF_NUMBERS = frozenset(
    {"label", "labels", "class", "classes", "category", "target", "species", "id", "idx", "index", "code", "cls"}
)
_JUDGEMENTS = frozenset(
    {"is", "has", "checked", "usable", "valid", "ok", "verified", "reviewed", "done", "use", "used", "keep", "flash"}
    | {"blurred", "blurry", "cropped", "quality", "visible", "occluded", "truncated", "flagged"}
)


# Words of columns that say something about the label of those images for which they have a value.
_OF_SOME = _JUDGEMENTS | {"label", "labels", "class", "corrected", "correction"}


_OF_NONE = re.compile(r"-?9{2,}|-[19]")
_MIN_SEVERAL = 3
_FEW_OTHERS = 20  # one in so many is no accident
_USUAL = (*LABEL_COLUMNS, *LIKELY_LABEL_COLUMNS)


def doubts_about_columns(found: Evidence, label: Column) -> Iterator[str]:
    """Yield why columns may not be the labels."""
    name = label.column[0] if len(label.column) == 1 else ""
    is_usual = bool(named_like([name], _USUAL))
    rivals = [
        one
        for one, values in found.features.items()
        if _may_be_label(one, values, found) or (name and not is_usual and _is_quantity(one, values))
    ]
    if found.is_file and named_like([name], LABEL_COLUMNS):  # the user has chosen the table, and its author the name
        rivals = [one for one in rivals if named_like([one], _USUAL)]
    if len(label.column) > 1 and (odd := [one for one in label.column if is_other(one)]):
        yield f"the columns {first_of([*map(repr, odd)], 3)} may be none of the labels"
    words = {number_of_word(one) for one in label.column}
    if len(label.column) > 1 and len(words) == 1 and None not in words:
        yield f"columns such as {label.column[0]!r} may be votes of one label each"
    if rivals:
        yield f"other columns may be the label: {first_of([*map(repr, rivals)], 3)}"
    if name and not is_usual and is_other(name):
        yield f"the column {printable(name)!r} has no name of a label"
    is_stated = found.options.label_type != "auto"
    if (
        found.counts
        and not is_stated
        and all(one.isdecimal() for one in found.counts)
        and _OF_NUMBERS.isdisjoint(words_of(name))
    ):
        yield f"the column {printable(name)!r} may hold numbers"
    if pairs := [one for one, values in found.features.items() if _names_others(values, found)]:
        yield f"{first_of([*map(repr, pairs)], 3)} names a second image, so a label may be that of a pair"
    for number in missing_numbers(found):
        yield f"{number:g} occurs {found.targets[number]:,} times, and may stand for no value"
    yield from _about_names(found)
    if found.are_single:
        yield "most classes have one image"
    for _, names in found.unused_levels():
        yield f"folders such as {first_of(sorted({*map(printable, names)}), 3)} are not used"
        return


def missing_numbers(found: Evidence) -> list[float]:
    """Return the numbers such as -999, far from all others, that may stand for none."""
    often = (number for number, count in found.targets.items() if count >= _MIN_SEVERAL)
    # There are few such numbers, and as many others as images.
    return [number for number in often if _OF_NONE.fullmatch(f"{number:g}") and _is_far(number, found.targets)]


def _is_far(number: float, targets: Iterable[float]) -> bool:
    others = [one for one in targets if one != number]
    low, high = min(others, default=number), max(others, default=number)
    return len(others) >= _MIN_SEVERAL and max(low - number, number - high) > (high - low) / 4


def _about_names(found: Evidence) -> Iterator[str]:
    """Yield that paths of images have names of other classes than a table says."""
    of_words = {plain_name(name): name for name in found.counts if len(name) > 1 and not name.isdecimal()}
    class_of = cache(lambda word: of_words.get(plain_name(word)))  # the words of names repeat
    num, others = 0, list[tuple[str, str]]()
    for key, label in zip(found.keys, found.labels, strict=True):
        said = {*map(class_of, words_of(key))} - {None}
        num += len(said) == 1
        if len(said) == 1 and label not in said:
            others.append((key, label or ""))
    if 2 * num >= len(found.keys) and len(others) >= _MIN_SEVERAL and _FEW_OTHERS * len(others) >= num:
        key, label = others[0]
        yield (
            f"{len(others):,} of {num:,} paths say another class than the table, such as {printable(key)}, which is "
            f"{printable(label)!r} there"
        )


def is_other(name: str) -> bool:
    """Return whether a column is called like a judgement, a split, or how an image was made."""
    words = {*words_of(name)}
    return not words.isdisjoint(_JUDGEMENTS) or any(map(split_of_word, words)) or _is_of_making(words)


def _is_of_making(words: set[str]) -> bool:
    return not words.isdisjoint(_OF_MAKING)


def _may_be_label(name: str, values: list[Any], found: Evidence) -> bool:
    """Return whether a column that is only stored divides the images as classes do, and otherwise than the label."""
    texts = [str(value) for value in values if value not in (None, "")]
    if _is_of_making({*words_of(name)}) or are_of_single_images(texts):
        return False
    num = len({*texts})
    is_filled_in_part = 0 < len(texts) < len(values)
    is_usual = bool(named_like([name], _USUAL)) or is_filled_in_part
    if is_filled_in_part and not _OF_SOME.isdisjoint(words_of(name)):
        return True
    divides = num > 1 and (num * 2 <= len(texts) or is_usual)
    return divides and not repeats([*map(str, values)], found.labels)


def _is_quantity(name: str, values: list[Any]) -> bool:
    """Return whether a column has numbers that differ and are no ids, such as weights, which may be wanted, too."""
    texts = {str(value) for value in values if value not in (None, "")}
    is_of_something_else = _is_of_making({*words_of(name)}) or is_called_like_classes(name)
    return not is_of_something_else and len(texts) > 1 and all(map(is_number, texts))


def _names_others(values: list[Any], found: Evidence) -> bool:
    """Return whether most records name another image of the source, too, as those of pairs do."""
    pairs = zip(map(stem_of, found.keys), values, strict=True)
    others = [stem_of(name) for own, name in pairs if isinstance(name, str) and is_image(name) and stem_of(name) != own]
    return 2 * len(others) > len(values) and 2 * sum(one in found.stems for one in others) > len(values)
