"""Read any source that shardkit reads into a PCollection: what `convert` lists, as examples with URIs."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.metrics import Metrics

from shardkit.archives.uris import uri_of
from shardkit.beam.arguments import read_given
from shardkit.beam.counters import NAMESPACE, REJECTS, tagged_rejects
from shardkit.beam.elements import Box, Example, ReadExamples, Reject, typed
from shardkit.beam.exchanges import Keep, SpreadAgain
from shardkit.conversion.inventory.checking import measure_files
from shardkit.conversion.inventory.columns import MASK_PATH, TARGET, annotation_columns
from shardkit.conversion.inventory.source_files import are_records, image_path, image_start
from shardkit.conversion.option_values import absolute_location, conversion_values, source_locations, source_texts
from shardkit.conversion.staging.staged_conversion import ReadSource
from shardkit.conversion.writing.inventory_tasks import DECODE_BATCH_ROWS, PartGroup, list_parts, part_groups
from shardkit.conversion.writing.source_plan import chooses_reading
from shardkit.dataset.features import MASK, NO_LABEL
from shardkit.dataset.tfrecord import HEADER_BYTES
from shardkit.errors import CallError
from shardkit.parallel.driver_view import DriverView, check_worker
from shardkit.record_sources.datasets.columns import RECORD_BYTES, STORED_MASK
from shardkit.sources import Listing, Source
from shardkit.sources.columns import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    FEATURE_PREFIX,
    GROUP,
    IS_UNLABELLED,
    LABEL_NAMES,
    MASK_COLOURS,
    OBJECTS,
    OFFSET,
    PATH,
)
from shardkit.sources.opening import open_source
from shardkit.storage import Folder, open_folder

_NO_LIMIT = 1 << 62  # who checks the images knows how large they may be
_OF_BOXES = {"bbox", "label_name", "name"}
_Path = str | os.PathLike[str]


class Settled(NamedTuple):
    """A source whose reading is settled."""

    at: int  # number of the source, of `ReadAllImages`
    prefix: str  # what its keys begin with
    source: Source  # how it is read
    view: DriverView  # what the worker that settled it sees, which the others are compared with
    groups: list[PartGroup]  # groups of its parts
    is_explicit: bool  # whether the user chose how it is read


class ReadImages(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """A pipeline to the examples of a source: an `Example` with a URI and all facts for each image.

    The source is any that `shardkit.convert` reads, and the examples are those that it lists. No image is opened. All
    files are listed, and accounted for, before the first example leaves; what cannot be read as one source fails the
    pipeline with the sentence of ``shardkit plan``. A single folder, table or archive keeps all workers busy.
    """

    def __init__(self, source: _Path | Sequence[_Path], *, temp_location: _Path | None = None, **options: Any) -> None:
        """Check the options.

        Args:
            source: See `shardkit.convert`.
            temp_location: A folder that all workers reach, for archives that cannot be read in place (.7z, .tar.gz):
                they are unpacked into it, and stay. None refuses those.
            **options: The options of `shardkit.convert` that say how a source is read, by their names or in their
                groups: ``label="path:0"``, ``layout="coco"``, ``facts=Facts(…)``.

        Raises:
            CallError: An argument is wrong.
        """
        super().__init__()
        self._sources, self._settle = source_texts(source), _Settle.of(options, temp_location)
        self._has_rejects = False

    def with_rejects(self) -> "ReadImages":
        """Return `ReadExamples` when applied: also what listing rejects, and the source.

        Without this, rejects are only counted, in ``rejected_REASON``.
        """
        self._has_rejects = True
        return self

    def expand(self, pipeline: Any) -> Any:
        sources = pipeline | "Source" >> beam.Create(
            [(0, "", list(map(absolute_location, self._sources)))], reshuffle=False
        )
        found = _read(sources | "Settle" >> beam.Map(self._settle))  # Settled
        return found if self._has_rejects else found.examples


class ReadAllImages(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """A PCollection of folders, archives or tables to the examples of all of them, all read in one way.

    Keys begin with the name of their folder: ``2026-03/cats/1.jpg``. All folders are listed, and accounted for, before
    the first example leaves.
    """

    def __init__(self, *, temp_location: _Path | None = None, **options: Any) -> None:
        """Check the options; see `ReadImages`.

        Args:
            temp_location: See `ReadImages`.
            **options: See `ReadImages`; the reading of all folders.

        Raises:
            CallError: An argument is wrong.
        """
        super().__init__()
        self._settle = _Settle.of(options, temp_location)

    def expand(self, folders: Any) -> Any:
        named = (
            folders
            | "ListFolders" >> beam.combiners.ToList()  # [str]
            | "Number" >> beam.FlatMap(_numbered)  # (number, prefix, [str])
        )
        return _read(named | "SpreadFolders" >> beam.Reshuffle() | "Settle" >> beam.Map(self._settle))  # Settled


def _numbered(folders: Iterable[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield each folder once with its number, and its name as the beginning of keys."""
    prefixes: dict[str, str] = {}
    for number, folder in enumerate(sorted({absolute_location(one).rstrip("/") for one in folders})):
        prefix = f"{folder.rpartition('/')[2]}/"
        if (other := prefixes.setdefault(prefix, folder)) != folder:
            raise CallError(f"{other} and {folder} have one name, and keys begin with it; rename one of them")
        yield number, prefix, [folder]


def _read(settled: Any) -> ReadExamples:
    """Sources whose reading is settled to their examples."""
    settled = settled | "KeepSettled" >> Keep()  # Settled; a step that is tried again sees the same source
    by_number = beam.pvalue.AsDict(settled | "NumberSources" >> beam.Map(_by_number))  # (number, Settled)
    rows = (
        settled
        | "Parts" >> beam.FlatMap(_parts)  # ((number, group), PartGroup)
        | "SpreadParts" >> beam.Reshuffle()  # ((number, group), PartGroup)
        | "ListRows" >> beam.FlatMap(_rows, by_number)  # (_BatchId, Listing of 128 rows or more)
    )
    totals = rows | "Totals" >> beam.FlatMap(_totals)  # (number, totals)
    proved = settled | "Prove" >> beam.Map(_prove, beam.pvalue.AsMultiMap(totals))  # (number, ReadSource)
    examples = (
        rows
        | "SpreadRows" >> SpreadAgain()  # (_BatchId, Listing)
        | "MakeExamples"
        >> beam.ParDo(_MakeExamples(), by_number, beam.pvalue.AsDict(proved)).with_outputs(REJECTS, main="examples")
    )
    return ReadExamples(
        examples=typed(examples["examples"], "TypeExamples", Example),
        rejects=typed(examples[REJECTS], "TypeRejects", Reject),
        source=proved | "ReadSource" >> beam.Values(),
    )


@dataclass(frozen=True, slots=True)
class _Settle:
    """Opens a source on a worker, as `shardkit.convert` does."""

    options: dict[str, Any]
    temp_location: str | None

    @classmethod
    def of(cls, options: Mapping[str, Any], temp_location: _Path | None) -> "_Settle":
        """Check the options of a transform."""
        location = None if temp_location is None else absolute_location(os.fspath(temp_location))
        return cls(read_given("ReadImages", options), location)

    def __call__(self, named: tuple[int, str, list[str]]) -> Settled:
        number, prefix, sources = named
        url, *also = source_locations(sources)
        source_options, options = conversion_values(url, self.options, lambda _: None, also)
        work = None if self.temp_location is None else open_folder(self.temp_location)
        if work is not None:
            work.create()
        source = open_source(url, source_options, work=work)
        groups = [group for _, group in part_groups(source, is_remote=True)]
        is_explicit = chooses_reading(source_options, options)
        return Settled(number, prefix, source, DriverView.of([source.folder]), groups, is_explicit)


def _by_number(settled: Settled) -> tuple[int, Settled]:
    return settled.at, settled._replace(groups=[])


def _parts(settled: Settled) -> Iterator[tuple[tuple[int, int], PartGroup]]:
    for number, group in enumerate(settled.groups):
        yield (settled.at, number), group


_BatchId = tuple[int, int, int]  # the numbers of the source, the group, and the batch in it


def _rows(
    part: tuple[tuple[int, int], PartGroup], sources: Mapping[int, Settled]
) -> Iterator[tuple[_BatchId, Listing]]:
    (number, at), group = part
    check_worker(sources[number].view)
    for batch, listing in enumerate(list_parts(sources[number].source, group, DECODE_BATCH_ROWS)):
        yield (number, at, batch), listing


_Totals = tuple[dict[str, int], dict[int, str]]


def _totals(numbered: tuple[_BatchId, Listing]) -> Iterator[tuple[int, _Totals]]:
    (number, _, _), listing = numbered
    if listing.skipped or listing.classes:
        yield number, (listing.skipped, listing.classes)


def _prove(settled: Settled, totals: Mapping[int, Iterable[_Totals]]) -> tuple[int, ReadSource]:
    whole = Listing()
    for skipped, classes in totals[settled.at]:
        whole.add(skipped, classes.items())
    whole.skipped = dict(sorted(whole.skipped.items()))
    settled.source.check_accounts(whole.skipped)
    settled.source.check_classes(whole.classes)
    return settled.at, ReadSource(settled.source, whole, settled.is_explicit)


class _MakeExamples(beam.DoFn):  # type: ignore[misc] # Beam is untyped
    """Rows of sources to examples, and to rejects."""

    def process(
        self, numbered: tuple[_BatchId, Listing], sources: Mapping[int, Settled], proved: Mapping[int, ReadSource]
    ) -> Iterator[Any]:
        (number, _, _), listing = numbered
        settled = sources[number]
        check_worker(settled.view)
        yield from examples_of(settled.source, listing, proved[number].totals, settled.prefix)


def examples_of(source: Source, listing: Listing, totals: Listing, prefix: str = "") -> Iterator[Any]:
    """Yield an example for each good row of a listing, and a tagged reject for each other one."""
    table = measure_files(source.folder, listing.table(), _NO_LIMIT)
    numbers = {name: number for number, name in totals.classes.items()}
    numbers = numbers or {name: number for number, name in enumerate(source.classes or ())}
    own = {"label_name", GROUP.name, *annotation_columns(table.schema)} & {*table.column_names}
    for row in table.to_pylist():
        key = prefix + row["key"]
        if row["reason"] is not None:
            facts = {name: row[name] for name in own if row[name] is not None}
            text = json.dumps(facts, ensure_ascii=False) if facts else None
            reject = Reject(key, row["reason"], row["message"], row["source_bytes"], row["split"], text)
            yield from tagged_rejects([reject])
            continue
        Metrics.counter(NAMESPACE, "images_listed").inc()
        yield _example(source.folder, row, key, numbers, is_record=are_records(table.schema))


def _example(
    folder: Folder, row: Mapping[str, Any], key: str, numbers: Mapping[str, int], *, is_record: bool
) -> Example:
    start = image_start(row) if is_record or row.get(OFFSET.name) is not None else None
    targets = row.get(TARGET)
    features = {
        name.removeprefix(FEATURE_PREFIX): value for name, value in row.items() if name.startswith(FEATURE_PREFIX)
    }
    example = Example(
        key=key,
        uri=uri_of(folder, image_path(row), start, row["source_bytes"]),
        label=row["label_name"],
        labels=row.get(LABEL_NAMES.name),
        target=targets[0] if targets is not None and len(targets) == 1 else None,
        targets=targets if targets is not None and len(targets) > 1 else None,
        mask_uri=_mask_uri(folder, row, is_record=is_record),
        mask_colours=row.get(MASK_COLOURS.name),
        split=row["split"],
        group=row.get(GROUP.name),
        number=NO_LABEL if row.get(IS_UNLABELLED.name) else numbers.get(row["label_name"]),
        features=json.dumps(features, ensure_ascii=False) if features else None,
        num_bytes=row["source_bytes"],
    )
    if row.get(OBJECTS) is None:
        return example
    sides = [row[name.name] for name in (ANNOTATED_WIDTH, ANNOTATED_HEIGHT)]
    # A listing's 0 is for fractions, its None for pixels of the image itself.
    width, height = (0 if side is None else side or None for side in sides)
    return example._replace(boxes=[_box(one) for one in row[OBJECTS]], boxes_width=width, boxes_height=height)


def _mask_uri(folder: Folder, row: Mapping[str, Any], *, is_record: bool) -> str | None:
    if row.get(MASK_PATH) is None:
        return None
    if not is_record:
        return uri_of(folder, row[MASK_PATH])
    start, feature = row[OFFSET.name] + HEADER_BYTES, row.get(STORED_MASK.name) or MASK
    return uri_of(folder, row[PATH.name], start, row[RECORD_BYTES.name], feature)


def _box(found: Mapping[str, Any]) -> Box:
    further = {name: value for name, value in found.items() if name not in _OF_BOXES}
    features = json.dumps(further, ensure_ascii=False) if further else None
    ymin, xmin, ymax, xmax = found["bbox"]
    return Box(found["label_name"], ymin, xmin, ymax, xmax, found["name"], features)
