"""Refuse tables whose numbers have lost the zeros that the names of the images begin with."""

from collections.abc import Iterable
from itertools import islice

from shardkit.naming import printable
from shardkit.refusals import RefusalError
from shardkit.sources.file_names import stem_of
from shardkit.sources.formats.tables.records import TableFile

_MAX_IDS = 100_000  # records that are looked at for lost zeros


def refuse_lost_zeros(file: TableFile, columns: Iterable[int], paths: Iterable[str]) -> None:
    """Refuse a table whose numbers are names of images without the zeros that these begin with: 1 for 0001.jpg."""
    numbers: dict[int, dict[str, str]] = {i: {} for i in columns}
    num_records = 0
    for record in islice(file.all_records(frozenset(numbers)), _MAX_IDS):
        num_records += 1
        for i in [] if record.problem else [*numbers]:
            text = str(record.values[i]).strip()
            if not text.isdecimal() or text.startswith("0"):
                del numbers[i]
            else:
                numbers[i][text] = ""
        if not numbers:
            return
    exact: set[str] = set()
    for path in paths:
        stem = stem_of(path)
        exact.add(stem)
        if stem.startswith("0") and stem.isdecimal():
            for found in numbers.values():
                if stem.lstrip("0") in found:
                    found[stem.lstrip("0")] = path
    for i, found in numbers.items():
        padded = {text: path for text, path in found.items() if path}
        num_exact = len(exact & {*found})
        is_id = 2 * len(found) > num_records  # a class repeats
        if is_id and 2 * len(padded) > len(found) and 2 * num_exact <= len(found):
            text, path = next(iter(padded.items()))
            others = f", and {num_exact:,} are names as they are" if num_exact else ""
            problem = (
                f"{file.url}: {len(padded):,} of {len(found):,} values of column {file.columns[i]!r} are names of "
                f"images without their zeros, such as {text} for {printable(path)}{others}"
            )
            stem = stem_of(path)
            remedy = (
                f"write them as the images are called, {stem} instead of {text}: programs drop the zeros of a column "
                "that is not saved as text"
            )
            raise RefusalError(problem, remedy=remedy)
