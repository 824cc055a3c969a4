"""The number of rejected images that a conversion tolerates, a count or a share of all, and the list of them.

`rejected.parquet` is next to the shards; before there is a dataset, in the work folder.
"""

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shardkit.errors import CallError, DataError
from shardkit.naming import IMAGE_ENDINGS, WORK_FOLDER, counted, printable
from shardkit.options.call import Change
from shardkit.options.groups import DEFAULT_MAX_REJECTED as DEFAULT_MAX_REJECTED  # noqa: PLC0414 - read from here too
from shardkit.options.words import named, shown
from shardkit.refusals import RefusedDataError
from shardkit.reject_reasons import DAMAGED, EMPTY, MISSING, NO_LABEL, NOT_AN_IMAGE, NOT_COUNTED, UNSUPPORTED_FORMAT
from shardkit.sources.listing import NO_ANNOTATION
from shardkit.sources.walking import ending
from shardkit.storage import Folder

REJECTED_IN_WORK = f"{WORK_FOLDER}/rejected.parquet"

# A conversion that fails names this many of its rejected images; all of them are in the work folder.
REJECTED_SHOWN = 10
# Reasons of images that are rejected as a whole or do not exist; a bad box or label is only a part of what is known of
# an image, and behind the end of a truncated archive are more images.
_TO_LEAVE_OUT = frozenset({DAMAGED, EMPTY, MISSING, NO_LABEL, NOT_AN_IMAGE, UNSUPPORTED_FORMAT})


@dataclass(frozen=True, slots=True)
class RejectLimit:
    """A limit on rejected images: `count` or `share`, the other one is None."""

    text: str  # the limit as the user wrote it
    count: int | None  # maximum number of rejected images
    share: Fraction | None  # maximum share of rejected images, 0 to 1

    @classmethod
    def parse(cls, given: float | str) -> "RejectLimit":
        """Read a count such as 100, or a share such as ``"5%"`` or 0.05."""
        text = str(given)
        wrong = CallError(
            f"{named('max_rejected')} is a count such as 100 or a share such as 5% or 0.05; found {text!r}"
        )
        number = text.strip().removesuffix("%").strip()
        try:
            value = Fraction(number)
        except (ValueError, ZeroDivisionError):
            raise wrong from None
        if text.strip().endswith("%"):
            if not 0 <= value <= 100:
                raise wrong
            return cls(text.strip(), None, value / 100)
        if "." in number and 0 <= value <= 1:  # 1.0 is a share too: 1 is a count
            return cls(text.strip(), None, value)
        if value < 0 or value.denominator != 1:
            raise wrong
        return cls(text.strip(), int(value), None)

    def allows(self, num_rejected: int, num_files: int) -> bool:
        """Return whether the limit allows `num_rejected` rejects among `num_files` images."""
        if self.count is not None:
            return num_rejected <= self.count
        return self.share is None or num_rejected <= self.share * num_files


def counted_rejects(rejected: pa.Table) -> pa.Table:
    """Return the rejects that are bad; duplicates that dedupe drops, for instance, are good images."""
    return rejected.filter(pc.invert(pc.is_in(rejected["reason"], pa.array(NOT_COUNTED))))


def too_many_rejected(limit: RejectLimit, num_files: int, rejected: pa.Table, where: str) -> DataError:
    """Return the error for a conversion that exceeds the limit."""
    rows: list[dict[str, Any]] = rejected.slice(0, REJECTED_SHOWN).to_pylist()
    by_reason = Counter(rejected["reason"].to_pylist())
    reasons = ", ".join(f"{count} {reason}" for reason, count in by_reason.most_common())
    allowed = f"more than {named('max_rejected', limit.text)} allows"
    problem = f"{len(rejected)} of {num_files} images and records are bad, {allowed} ({reasons})"
    lines = [f"  {printable(row['key'])}: {row['reason']}: {shown(row['message'])}" for row in rows]
    if len(rejected) > REJECTED_SHOWN:
        lines.append(f"  … and {len(rejected) - REJECTED_SHOWN} more, all in {where}")
    if changes := [*_changes(limit, num_files, rejected)]:
        remedy = "nothing was published; repair or remove them"
        return RefusedDataError(problem, changes, remedy=remedy, appendix="\n".join(lines))
    end = f"repair or remove them, or raise {named('max_rejected')}; nothing was published"
    return DataError("\n".join([f"{problem}:", *lines, end]))


def _changes(limit: RejectLimit, num_files: int, rejected: pa.Table) -> Iterator[Change]:
    """Yield the changes that publish the dataset: without the rejects, or with some as examples without objects."""
    may_be_left_out = pc.all(pc.is_in(rejected["reason"], pa.array(sorted(_TO_LEAVE_OUT)))).as_py()
    if may_be_left_out and len(rejected) <= num_files / 2:
        yield Change(f"without {_counted(rejected)}", {"max_rejected": str(len(rejected))})
    is_unannotated = pc.fill_null(pc.starts_with(rejected["message"], NO_ANNOTATION), fill_value=False)
    num, others = pc.sum(is_unannotated).as_py() or 0, rejected.filter(pc.invert(is_unannotated))
    if num and (may_be_left_out or limit.allows(len(others), num_files)):
        meaning = f"with {counted(num, 'image')} without annotation as negatives"
        options = {"without_annotation": "negative"}
        if not limit.allows(len(others), num_files):
            meaning, options = f"{meaning}, without {_counted(others)}", options | {"max_rejected": str(len(others))}
        yield Change(meaning, options)


def _counted(rejected: pa.Table) -> str:
    """Return the numbers of images and of records, which leave out no image."""
    num_images = sum(ending(key) in IMAGE_ENDINGS for key in rejected["key"].to_pylist())
    numbers = ((num_images, "image"), (len(rejected) - num_images, "record"))
    return " and ".join(counted(num, what) for num, what in numbers if num)


def rejected_parquet(table: pa.Table) -> bytes:
    """Return the bytes of `rejected.parquet`."""
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def enforce_limit(output: Folder, limit: RejectLimit, num_files: int, rejected: pa.Table) -> None:
    """Refuse too many rejects, and list them in the work folder."""
    counted = counted_rejects(rejected)
    if limit.allows(len(counted), num_files):
        return
    with output.atomic_write(REJECTED_IN_WORK) as file:
        file.write(rejected_parquet(counted))
    raise too_many_rejected(limit, num_files, counted, f"{output.url}/{REJECTED_IN_WORK}")
