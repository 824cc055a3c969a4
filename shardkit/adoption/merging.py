"""Merge what the scans of all files found, and decide features and keys."""

from collections.abc import Sequence

import numpy as np

from shardkit.adoption.class_names import Labels
from shardkit.adoption.features import adopted_features, merge_counts
from shardkit.adoption.keys import choose_keys
from shardkit.adoption.messages import Merged, records_refused
from shardkit.adoption.records import Found, needed_features
from shardkit.adoption.scan_files import RecordsFile, read_scan
from shardkit.adoption.scanning import Scan, ScanProblem
from shardkit.dataset.foreign.files import number_problem
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.index.file import indexed_labels
from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.storage import Folder


def merge_scans(
    records: Folder,
    files: Sequence[RecordsFile],
    work: Folder,
    scans: Sequence[str],
    layout: RecordLayout,
    key_feature: str | None,
) -> Merged:
    """Read all scans one by one, and decide features and keys.

    Args:
        records: The folder of the records.
        files: The files.
        work: The work folder.
        scans: Name of each file's scan there.
        layout: Which feature is what.
        key_feature: Feature that the user names for the keys; None for none.

    Raises:
        DataError: Records have problems, or the keys of a named feature are not unique.
    """
    problems: list[tuple[str, ScanProblem]] = []
    num_problems = num_records = num_zero = 0
    counts, found, sha256 = [], Found(), []
    lowest, highest, where = 1 << 31, -1, ""
    for file, name in zip(files, scans, strict=True):
        scan = read_scan(work, name)
        num_problems += len(scan.problems)
        problems += [(file.path, problem) for problem in scan.problems]
        _check_whole(records, file, scan)
        counts.append((file.path, scan.found.features))
        found.add(scan.found)
        sha256.append(scan.sha256)
        num_records += len(scan.rows)
        labels = indexed_labels(scan.rows)
        if len(labels):
            lowest, num_zero = min(lowest, int(labels.min())), num_zero + int((labels == 0).sum())
            if labels.max() > highest:
                highest = int(labels.max())
                where = f"{printable(file.path)}, record {_first_with(scan, highest)}"
    if problems:
        raise records_refused(records, [file.path for file in files], problems, num_problems, layout)
    merged = merge_counts(counts, needed_features(layout))
    key = layout.key if layout.key in merged and merged[layout.key].kind == "bytes" else key_feature
    columns = ((file.path, read_scan(work, name).rows["key_text"]) for file, name in zip(files, scans, strict=True))
    choice = choose_keys(key, columns, is_required=key_feature is not None)
    adopted = adopted_features(layout, merged, num_records, choice.feature, found.uneven)
    return Merged(adopted, choice, Labels(lowest, highest, where), num_zero, found, sha256)


def _check_whole(records: Folder, file: RecordsFile, scan: Scan) -> None:
    if scan.problems:
        return
    url = f"{records.url}/{printable(file.path)}"
    if problem := number_problem(url, len(scan.rows), file.num_records):
        raise DataError(problem)
    if scan.num_bytes != file.num_bytes:
        msg = (
            f"{url}: the file had {file.num_bytes} bytes and now has {scan.num_bytes}; "
            "somebody is writing it: adopt it when it is finished"
        )
        raise DataError(msg)


def _first_with(scan: Scan, label: int) -> int:
    rows = scan.rows
    if rows["label"].null_count < len(rows):
        return int(np.flatnonzero(rows["label"].to_numpy() == label)[0])
    return next(at for at, labels in enumerate(rows["labels"].to_pylist()) if label in labels)
