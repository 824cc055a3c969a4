"""Find groups and exact duplicates that are in more than one split of a dataset."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit import naming
from shardkit.conversion.planning.splits.grouping import digest_prefixes
from shardkit.dataset.index.groups import filled_groups, group_rules
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.manifest import Manifest
from shardkit.images.similar.similar_sets import alike_text, similar_sets, unhashed_text
from shardkit.naming import printable
from shardkit.options.words import shell_command
from shardkit.parallel.progress import ProgressListener, Silent
from shardkit.verification.name_leaks import name_leaks
from shardkit.verification.shards import DatasetProblem


def leak_problems(
    manifest: Manifest, problems: Collection[DatasetProblem] = (), listener: ProgressListener | None = None
) -> list[DatasetProblem]:
    """Return a problem for every content, set of near-identical images, and group in several splits, with two keys.

    The indexes are read four times. Memory is about 150 bytes for an example that has a perceptual hash, its key and
    9 bytes for another one, and the names of the groups.

    Args:
        manifest: The dataset's manifest, read from its folder.
        problems: Problems found before. Examples of a damaged index are skipped, and a problem says so.
        listener: Receives sentences about images that cannot be compared: those that look alike by nature, and those
            without a perceptual hash; None for nobody.
    """
    damaged = {problem.file for problem in problems}
    unread = [shard.index.path for _, shard in manifest.shards() if shard.index.path in damaged]
    skipped = []
    if unread:
        others = f", nor were those of {len(unread) - 1} other damaged indexes" if len(unread) > 1 else ""
        skipped.append(DatasetProblem(unread[0], None, f"its examples were not checked for leaks{others}"))
    readable = _Readable(manifest, frozenset(unread))
    contents, groups = _content_leaks(readable), _group_leaks(readable)
    near = _near_leaks(readable, listener or Silent())
    dropping = f"`{shell_command('convert', manifest.root.url, 'NEW', dedupe='drop')}` keeps one of them"
    dividing = f"`{_divided_again(manifest)}` moves each group into one split"
    reports = _report(contents, dropping) + _report(near, dropping) + _report(groups, dividing)
    by_names = name_leaks(
        readable.tables(["key", "label_name", "group"]),
        lambda pattern: f"`{_divided_again(manifest, group_by=pattern)}` moves each group into one split",
    )
    return skipped + reports + [DatasetProblem(naming.MANIFEST, None, f"leak: {leak}") for leak in by_names]


class _Readable(NamedTuple):
    manifest: Manifest
    unread: frozenset[str]  # paths of indexes

    def tables(self, columns: list[str]) -> Iterator[tuple[str, pa.Table]]:
        return (
            (split, read_columns(self.manifest.root, shard, columns))
            for split, shard in self.manifest.shards()
            if shard.num_examples and shard.index.path not in self.unread
        )


def _divided_again(manifest: Manifest, **options: str) -> str:
    """Return the command that divides the examples of all splits again, by the shares that the splits have."""
    counts = {name: split.num_examples for name, split in manifest.splits.items() if split.num_examples}
    total = sum(counts.values())
    splits = ",".join(f"{name}={count / total:.4g}" for name, count in counts.items())
    return shell_command("convert", manifest.root.url, "NEW", splits_of=",".join(counts), splits=splits, **options)


def _report(leaks: Iterator[str], remedy: str) -> list[DatasetProblem]:
    return [DatasetProblem(naming.MANIFEST, None, f"leak: {leak}; {remedy}") for leak in leaks]


def _content_leaks(dataset: _Readable) -> Iterator[str]:
    names = list(dataset.manifest.splits)
    prefixes = [np.zeros(0, np.uint64)]
    splits = [np.zeros(0, np.uint8)]
    for split, table in dataset.tables(["content_sha256"]):
        prefixes.append(digest_prefixes(table["content_sha256"]))
        splits.append(np.full(len(table), names.index(split), np.uint8))
    suspects = _in_several(np.concatenate(prefixes), np.concatenate(splits))
    del prefixes, splits
    if not len(suspects):
        return
    first: dict[bytes, tuple[str, str]] = {}
    reported = set[bytes]()
    for split, table in dataset.tables(["key", "content_sha256"]):
        rows = table.take(np.flatnonzero(np.isin(digest_prefixes(table["content_sha256"]), suspects)))
        for row in rows.to_pylist():
            content = row["content_sha256"]
            first_split, first_key = first.setdefault(content, (split, row["key"]))
            if first_split != split and content not in reported:
                reported.add(content)
                one, other = (printable(key) for key in (first_key, row["key"]))
                yield f"{one} in {first_split} and {other} in {split} have the same bytes"


def _in_several(values: npt.NDArray[np.uint64], splits: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Return the values that are in more than one split."""
    # A stable sort keeps the splits of equal values in order: they are read one after the other.
    order = np.argsort(values, kind="stable")
    values, splits = values[order], splits[order]
    parted = (values[1:] == values[:-1]) & (splits[1:] != splits[:-1])
    return np.unique(values[1:][parted])


def _near_leaks(dataset: _Readable, listener: ProgressListener) -> Iterator[str]:
    splits, prefixes, hashes = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)], [np.zeros((0, 2), np.uint64)]
    rows, num_rows = [np.zeros(0, np.int64)], 0  # numbers of the examples among all
    names = list(dataset.manifest.splits)
    for split, table in dataset.tables(["content_sha256", "perceptual_hash"]):
        known, words = hash_words(table["perceptual_hash"])
        splits.append(np.full(len(known), names.index(split)))
        prefixes.append(digest_prefixes(table["content_sha256"])[known])
        hashes.append(words)
        rows.append(known + num_rows)
        num_rows += len(table)
    if unhashed := unhashed_text(num_rows - sum(map(len, rows)), num_rows) if len(names) > 1 else "":
        listener.say(unhashed)
    _, first, number_of = np.unique(np.concatenate(prefixes), return_index=True, return_inverse=True)
    found = similar_sets(np.concatenate(hashes)[first])
    if found.num_alike:
        which = "no near-identical images were" if found.is_by_nature else "these were not"
        listener.say(f"{alike_text(found.num_alike)}, so {which} looked for in other splits")
    codes = found.codes[number_of]
    split_of, row_of = np.concatenate(splits), np.concatenate(rows)
    # The first example of each set, and the first in another split that is another image.
    pairs: dict[int, tuple[int, int]] = {}
    seen: dict[int, int] = {}
    for at in np.flatnonzero(codes >= 0).tolist():
        one = seen.setdefault(int(codes[at]), at)
        if split_of[one] != split_of[at] and number_of[one] != number_of[at]:
            pairs.setdefault(int(codes[at]), (one, at))
    wanted = np.unique(row_of[np.array(list(pairs.values()), np.int64).ravel()])
    keys: dict[int, str] = {}
    start = 0
    for _, table in dataset.tables(["key"]) if len(wanted) else ():
        some = wanted[(wanted >= start) & (wanted < start + len(table))]
        keys |= dict(zip(some.tolist(), table["key"].take(pa.array(some - start)).to_pylist(), strict=True))
        start += len(table)
    for one, other in pairs.values():
        shown = (f"{printable(keys[int(row_of[at])])} in {names[split_of[at]]}" for at in (one, other))
        yield f"{' and '.join(shown)} are nearly identical"


def _group_leaks(dataset: _Readable) -> Iterator[str]:
    first: dict[str, tuple[str, str]] = {}
    reported = set[str]()
    rules = group_rules(dataset.manifest)
    for split, table in dataset.tables(["key", "group"]):
        groups = filled_groups(table, rules).to_pylist()
        for row in dict(zip(reversed(groups), range(len(groups) - 1, -1, -1), strict=True)).values():
            group = groups[row]
            if group is None:
                continue
            first_split, first_key = first.setdefault(group, (split, table["key"][row].as_py()))
            if first_split != split and group not in reported:
                reported.add(group)
                one, other = printable(first_key), printable(table["key"][row].as_py())
                yield f"group {group!r} is in two splits: {one} in {first_split} and {other} in {split}"
