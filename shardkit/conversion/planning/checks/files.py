"""Find files that are not read or not used, splits without a good image, and a missing validation split."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.splits.own_splits import USUAL_SHARES
from shardkit.naming import counted, split_order
from shardkit.options.call import Change
from shardkit.options.groups import ConvertOptions
from shardkit.options.parsing import shares_text
from shardkit.options.words import named
from shardkit.reject_reasons import UNSUPPORTED_FORMAT
from shardkit.sources.claim import Claim

_MAX_UNREAD_SHARE = 10  # files that are not read: at most one in ten
_KINDS_SHOWN = 5
_CLAIMS_SHOWN = 3  # files that are not used for the same reason
# Files that describe images: one for each image is usual, as in exports of photo libraries and phones.
_DESCRIPTIONS = frozenset(
    (
        *(".aae", ".csv", ".db", ".doc", ".docx", ".html", ".ini", ".json", ".jsonl", ".log", ".lst", ".mat", ".md"),
        *(".ndjson", ".ods", ".odt", ".parquet", ".pkl", ".rtf", ".sqlite", ".thm", ".tsv", ".txt", ".xlsx", ".xml"),
        *(".xmp", ".yaml", ".yml"),
    )
)


def check_unread(rejected: pa.Table, num_rows: int, skipped: Mapping[str, int]) -> Iterator[Finding]:
    """Yield a finding if more than a tenth of all files, those that describe images aside, are not read.

    `skipped` counts files by ending; its other keys are phrases.
    """
    endings = {kind: count for kind, count in skipped.items() if kind.startswith(".") or kind == "(none)"}
    kinds = {kind: count for kind, count in endings.items() if kind not in _DESCRIPTIONS}
    num_files = num_rows + sum(kinds.values())
    bad = rejected.filter(pc.equal(rejected["reason"], UNSUPPORTED_FORMAT))
    endings_of_keys = pc.replace_substring_regex(bad["key"], r"^.*(\.[^./]*)$", r"\1")
    for found in pc.value_counts(pc.utf8_lower(endings_of_keys)).to_pylist() if len(bad) else ():
        kinds[found["values"]] = kinds.get(found["values"], 0) + found["counts"]
    unread = sum(kinds.values())
    if unread * _MAX_UNREAD_SHARE <= num_files:
        return
    most = sorted(kinds.items(), key=lambda one: (-one[1], one[0]))
    shown = ", ".join(f"{count:,} {kind}" for kind, count in most[:_KINDS_SHOWN])
    more = "" if len(most) <= _KINDS_SHOWN else f" and {counted(len(most) - _KINDS_SHOWN, 'other kind')}"
    yield Finding(
        "unread_files",
        "warns",
        f"{unread:,} of {num_files:,} files ({unread / num_files:.0%}) are not read: {shown}{more}",
        remedy="if they are images, convert them to JPEG or PNG; if they hold the labels, give the file as SOURCE",
    )


def check_claims(claims: Sequence[Claim]) -> Iterator[Finding]:
    """Yield a finding for each file that names images and is not used, and one for many of them that are alike."""
    alike: dict[str, list[Claim]] = {}
    for claim in claims:
        if not claim.is_used:
            alike.setdefault(claim.why, []).append(claim)
    for why, some in alike.items():
        for claim in some[:_CLAIMS_SHOWN]:
            yield Finding("unused_file", "warns", f"{claim.sentence} and is not used: {why}")
        if others := some[_CLAIMS_SHOWN:]:
            what = f"{counted(len(others), 'more file')} such as {others[0].path}"
            yield Finding("unused_file", "warns", f"{what}: named images, and not used for the same reason")


def check_removed(keys: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding if examples are left out because another dataset of the source removed them before."""
    if keys:
        are = "example is" if len(keys) == 1 else "examples are"
        sentence = (
            f"{len(keys):,} {are} left out, because another of the datasets removed the same key or content before"
        )
        changes = (Change("take them in", {"readmit": True}),)
        yield Finding("removed_before", "warns", sentence, examples=keys, changes=changes)


def _without_image(split: str, num_images: int) -> str:
    if num_images == 1:
        return f"the only image of the split {split!r} was rejected, so the split is not written"
    return f"all {num_images:,} images of the split {split!r} were rejected, so the split is not written"


def check_own_splits(
    inventory: pa.Table,
    rejected: pa.Table,
    names: Sequence[str],
    num_examples: int,
    options: ConvertOptions,
) -> Iterator[Finding]:
    """Yield findings about the source's own splits that are not written, and about a missing validation split.

    `rejected` is without what an append leaves out; `names` are the splits that are written.
    """
    listed = pc.value_counts(inventory["split"]).to_pylist()
    counts = {one["values"]: one["counts"] for one in listed if one["values"] is not None}
    for name in split_order(set(counts).difference(names, options.splits.splits_of)):
        keys = inventory.filter(pc.equal(inventory["split"], name))["key"]
        if pc.all(pc.is_in(keys, rejected["key"])).as_py():  # else the dataset has images of the split
            yield Finding("split_without_image", "warns", _without_image(name, counts[name]))
    if options.splits.splits is None and "train" in names and "validation" not in names and num_examples > 1:
        own = {"splits_of": "train"} if counts else {}
        added = {**own, "splits": shares_text(USUAL_SHARES)}
        wanted = " ".join(named(option, value) for option, value in added.items())
        everything = f"all {counted(num_examples, 'image')} are in 'train'"
        yield Finding(
            "no_validation_split",
            "hints",
            everything if len(names) == 1 else f"the splits are {' and '.join(names)}",
            remedy=f"for a validation split add {wanted}",
            changes=(Change("a tenth of the images is for validation", added),),
        )
