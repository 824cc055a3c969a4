"""Merge what the scans of all files found, decide features and keys, and say what was found."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from shardkit.adoption.class_names import ClassNames, Labels
from shardkit.adoption.features import AdoptedFeatures, KeyChoice, adopted_features, choose_keys, merge_counts
from shardkit.adoption.files import conversion_of
from shardkit.adoption.scanning import Found, Scan, ScanProblem, needed_features
from shardkit.dataset.foreign.files import ForeignFile, number_problem
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.errors import DataError
from shardkit.naming import counted, printable
from shardkit.refusals import RefusedDataError
from shardkit.storage import Folder

_PROBLEMS_SHOWN = 5


class Merged(NamedTuple):
    """What the scans of all files found."""

    adopted: AdoptedFeatures
    keys: KeyChoice
    labels: Labels
    found: Found  # the sums of all files
    sha256: Sequence[str]


def merge_scans(
    records: Folder,
    files: Sequence[ForeignFile],
    scans: Callable[[], Iterator[Scan]],
    layout: RecordLayout,
    key_feature: str | None,
) -> Merged:
    """Read all scans one by one, and decide features and keys; `key_feature` is one that the user names."""
    problems: list[tuple[str, ScanProblem]] = []
    counts, sha256, total = [], [], Found()
    labels, num_records = Labels(1 << 31, -1, ""), 0
    for file, (rows, found) in zip(files, scans(), strict=True):
        problems += [(file.path, problem) for problem in found.problems]
        if not found.problems:
            _check_whole(f"{records.url}/{printable(file.path)}", file, len(rows), found.num_bytes)
        counts.append((file.path, found.features))
        sha256.append(found.sha256)
        total.add(found)
        num_records += len(rows)
        if found.lowest is not None:
            labels = labels._replace(lowest=min(labels.lowest, found.lowest))
        if found.highest > labels.highest:
            where = f"{printable(file.path)}, record {found.where_highest}"
            labels = labels._replace(highest=found.highest, where_highest=where)
    if problems:
        raise _records_refused(records, [file.path for file in files], problems, layout)
    merged = merge_counts(counts, needed_features(layout))
    key = layout.key if layout.key in merged and merged[layout.key].kind == "bytes" else key_feature
    texts = ((file.path, scan.rows["key_text"]) for file, scan in zip(files, scans(), strict=True))
    keys = choose_keys(key, texts, is_required=key_feature is not None)
    adopted = adopted_features(layout, merged, num_records, keys.feature, total.uneven)
    return Merged(adopted, keys, labels, total, sha256)


def _check_whole(url: str, file: ForeignFile, num_records: int, num_bytes: int) -> None:
    if problem := number_problem(url, num_records, file.num_records):
        raise DataError(problem)
    if num_bytes != file.num_bytes:
        raise DataError(
            f"{url}: the file had {file.num_bytes} bytes and now has {num_bytes}; somebody is writing it: adopt it "
            "when it is finished"
        )


def _records_refused(
    records: Folder, paths: Sequence[str], problems: Sequence[tuple[str, ScanProblem]], layout: RecordLayout
) -> DataError:
    """Return the error for records that cannot be adopted, with the call that converts the others."""
    first = problems[:_PROBLEMS_SHOWN]
    shown = "".join(f"\n  {printable(path)}, record {one.number}: {one.sentence}" for path, one in first)
    more = len(problems) - len(first)
    shown += f"\n  and at least {more:,} more" if more > 0 else ""
    text = f"{records.url}: records are adopted as they are, and the reader cannot read these:{shown}\n"
    if layout.label.kind in {"masks", "none"}:  # which no conversion of others' records reads
        return DataError(f"{text}Restore the files, or write these records again")
    # Without this option a conversion stops at a file that cannot be read to its end.
    options = {"keep_truncated": True} if any(one.is_end for _, one in problems) else {}
    change = conversion_of(records, paths, "converts the other records", **options)
    return RefusedDataError(f"{text}Restore the files", [change])


def found_lines(merged: Merged, classes: ClassNames, layout: RecordLayout) -> Iterator[str]:
    """Yield lines about what all records say: labels, classes, keys, features, and facts to know before training."""
    found, key, label = merged.found, merged.keys, layout.label
    if classes.names:
        yield f"labels    {merged.labels.describe(classes.names)}"
        yield f"classes   {classes.origin}"
    numbered = "file and record number" + (f", because {key.why_numbered}" if key.why_numbered else "")
    yield f"key       {numbered if key.feature is None else printable(key.feature)}"
    if others := sorted({column.name for column in layout.columns} & {*merged.adopted.features}):
        yield f"stored    {', '.join(map(printable, others))}"
    for why in dict.fromkeys(why for _, why in merged.adopted.left_out):
        names = ", ".join(printable(name) for name, reason in merged.adopted.left_out if reason == why)
        yield f"left out  {names}: {why}"
    if found.num_rotated:
        images = counted(found.num_rotated, "image")
        yield (f"note      {images} with an EXIF orientation: pixels are given as stored, as tf.io.decode_image does")
    if found.num_without_labels:
        what = "objects" if label.kind == "objects" else "classes"
        lacking = f"{counted(found.num_without_labels, 'record')} without {printable(label.name)}"
        yield f"note      {lacking}: images without {what}, as for the reader"
    if found.num_bad_boxes:
        yield f"note      {counted(found.num_bad_boxes, 'box')} without area or beyond the image's edges"
