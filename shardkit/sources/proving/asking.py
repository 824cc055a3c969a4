"""Ask the user about a reading that is not proved: show it as options, and others that may be meant."""

import contextlib
import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from shardkit.errors import ShardkitError
from shardkit.naming import first_of, printable
from shardkit.options.call import Change
from shardkit.refusals import AS_RECOGNISED, RefusalError, RefusedDataError, UnclearError
from shardkit.sources.engine.accounting import Accounting, unexplained
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.filtered_folder import FilteredFolder, IgnoreGlob
from shardkit.sources.listing import Source
from shardkit.sources.options import Opening
from shardkit.sources.proving.evidence import Evidence
from shardkit.sources.proving.image_contents import are_most_beyond
from shardkit.sources.proving.offers import offers
from shardkit.sources.proving.path_offers import Offer
from shardkit.sources.readings.given import is_said_by, options_saying
from shardkit.sources.readings.text import to_data
from shardkit.sources.readings.values import Annotation, Labels, Paired, Reading, files_of
from shardkit.sources.walking import join, parent_of

_SHOWN = 3  # doubts
_MAX_RIVALS = 2
_FIELD = re.compile(r"\{\w+\}")  # of a template


def question(
    found: Evidence, opening: Opening, recognised: Reading, doubts: Sequence[str], rivals: Iterable[Offer]
) -> UnclearError:
    """Return the question about a source, with its archives as folders, that was recognised; the doubts say why."""
    problem = f"{printable(opening.url)}: shardkit would read it as {_how(found.source)}, and asks first, because "
    problem += "; ".join(doubts[:_SHOWN])
    offered, remedy = [Offer(recognised, AS_RECOGNISED), *offers(opening, recognised, found), *rivals], ""
    if are_most_beyond(found):  # only other numbers help
        offered = [one for one in offered if _form(one.reading) != _form(recognised)]
        remedy = "correct their numbers, which may be pixels instead of fractions, or another corner than expected"
    offered = [*_totals(opening, offered)]
    error = UnclearError(problem, [*map(_change, offered)], remedy="" if offered else remedy)
    error.readings = tuple(to_data(one.reading) for one in offered)
    return error


def rival_readings(
    reading: Reading, without: Callable[[Sequence[str]], tuple[Source, tuple[str, ...]]]
) -> Iterator[Offer]:
    """Yield what is recognised without the files that a reading is from: other boxes, tables, masks or splits."""
    for files in _files_of_facts(reading):
        globs = [f"/{path}" for path in files]
        for _ in range(_MAX_RIVALS):
            with contextlib.suppress(ShardkitError):
                other, hidden = without(globs)
                if other.reading is not None:
                    if _is_annotated(other.reading) or not _is_annotated(reading):  # hardly without boxes or masks
                        yield Offer(replace(other.reading, ignore=hidden), f"read as {_how(other)}")
                    if more := [f"/{path}" for some in _files_of_facts(other.reading) for path in some]:
                        globs = [*globs, *more]
                        continue
            break


def _is_annotated(reading: Reading) -> bool:
    return reading.boxes is not None or reading.mask is not None


def _files_of_facts(reading: Reading) -> list[tuple[str, ...]]:
    """Return the files of each fact, those that name its classes, and its masks, as globs."""
    facts = [origin for _, origin in reading.facts()]
    names = [(one.names,) for one in (reading.label, *facts) if isinstance(one, Labels | Annotation)]
    pairs = (one.pair.replace("{dir}/", "**/") for one in facts if isinstance(one, Paired))
    masks = [(join(reading.images.root, _FIELD.sub("*", pair) + ".*"),) for pair in pairs]
    return [*dict.fromkeys(filter(any, (*map(files_of, facts), *names, *masks)))]


def _how(source: Source) -> str:
    return source.describe().partition(": read as ")[2].partition("; note: ")[0]


def _form(reading: Reading) -> object:
    return reading.boxes and reading.boxes.options


def with_offers(error: RefusalError | RefusedDataError, opening: Opening) -> RefusalError | RefusedDataError:
    """Return a refusal of a source that was not recognised, with readings that may be meant."""
    offered = [*_totals(opening, [*offers(opening, None)])]
    known = error.refusal
    if isinstance(error, RefusedDataError) or not (offered or known.changes):
        error.refusal = replace(known, changes=(*known.changes, *map(_change, offered)))
        return error
    found = [replace(_change(one), is_further=True) for one in offered]
    first = [one for one in known.changes if "unlabelled" not in one.options]
    last = [replace(one, is_further=True) for one in known.changes if "unlabelled" in one.options]
    changes = [*first, *found, *last]
    asked = UnclearError(known.problem, changes, remedy=known.remedy, appendix=known.appendix)
    asked.readings = tuple(to_data(one.reading) for one in offered)
    return asked


def _totals(opening: Opening, offered: Sequence[Offer]) -> Iterator[Offer]:
    """Yield offers that account for every file, each once; those that cannot be opened are none."""
    found: list[Reading] = []
    for offer in offered:
        with contextlib.suppress(ShardkitError):
            total = accounting_for_all(opening, offer.reading)
            if total in found:
                continue
            found.append(total)
            unread = [
                one.strip("/") for one in total.ignore if one not in offer.reading.ignore and not one.endswith("/")
            ]
            without = f"; without {first_of([*map(printable, unread)], _SHOWN)}" if unread else ""
            yield replace(offer, reading=total, meaning=offer.meaning + without)


def _change(offer: Offer) -> Change:
    options = options_saying(offer.reading)
    if not is_said_by(options, offer.reading):
        options = {"reading": json.dumps(to_data(offer.reading), ensure_ascii=False)}
    return Change(offer.meaning, options, is_whole=offer.is_whole)


def accounting_for_all(opening: Opening, reading: Reading) -> Reading:
    """Return a reading that leaves out what it does not explain."""
    if opening.file is not None:  # images that the file does not name are no part of it
        is_ignored = reading.images.unnamed == "ignore"
        return replace(reading, images=replace(reading.images, unnamed="reject")) if is_ignored else reading
    names = [reading.label.names] if reading.label else []
    accounting = Accounting(
        [*filter(None, names), *(path for _, origin in reading.facts() for path in files_of(origin))]
    )
    globs = tuple(map(IgnoreGlob, reading.ignore))
    folder = FilteredFolder(opening.folder, globs) if globs else opening.folder
    source = open_reading(replace(opening, folder=folder), reading)
    if reading.images.unnamed == "ignore":
        listings = (one for part in source.parts() for one in source.list_part(part, 4096))
        if not any(phrase.startswith("image") for one in listings for phrase in one.skipped):
            reading = replace(reading, images=replace(reading.images, unnamed="reject"))  # a shorter command
    others = [*unexplained(folder, reading.images.root, accounting)]
    used = {_kind(one) for one in accounting.used}
    more = [kind for kind in {_kind(path) for path in others} if kind not in used]
    more += [path for path in others if _kind(path) in used]
    return replace(reading, ignore=tuple(dict.fromkeys((*reading.ignore, *(f"/{one}" for one in sorted(more))))))


def _kind(path: str) -> str:
    """Return the glob of a file's folder and ending; the path itself if it has none."""
    end = posixpath.splitext(path)[1]
    return join(parent_of(path), f"*{end}") if end else path
