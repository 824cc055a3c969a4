"""Find images that are next to an image of train by their file names, in datasets whose names show groups."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.splits.grouping import group_codes, groups_in_several_splits
from shardkit.conversion.planning.splits.name_groups import find_name_groups
from shardkit.dataset.index.groups import last_numbers
from shardkit.hashing import hash64_column
from shardkit.naming import counted, printable, split_order
from shardkit.options.words import named

_MOST_EQUAL = 0.1  # of the names: if more are also in train, the names of each split begin to count anew
NEAR = 2  # numbers: so near, two images of a recording are nearly the same
_BEFORE_NUMBER = r"^(?:.*/)?(?P<start>[^/]*?)[0-9]{1,18}[^0-9/]*(?:\.[^./]*)?$"


def name_leaks(tables: Iterable[tuple[str, pa.Table]], divided: Callable[[str], str]) -> Iterator[str]:
    """Yield what the file names show about splits.

    Args:
        tables: The name of the split, and key, label_name and group of its examples, for each shard.
        divided: Returns how to divide the dataset by the groups that a pattern finds in keys.
    """
    parts = [(split, table.cast(_SCHEMA)) for split, table in tables]
    splits = split_order({split for split, _ in parts})
    if len(splits) < 2:
        return
    table = pa.concat_tables([part for _, part in parts])
    split_of = np.repeat([splits.index(split) for split, _ in parts], [len(part) for _, part in parts]).astype(np.int32)
    del parts
    order = pc.sort_indices(table["key"])
    table, split_of = table.take(order), split_of[order.to_numpy()]
    labels = group_codes(table["label_name"]).astype(np.int32) + 1
    found = find_name_groups(table["key"], labels)
    if found is None:
        return
    places = _places(table["key"], with_folder=found.are_folders)
    train = np.sort(places[(split_of == 0) & (places >= 0)])
    others = np.flatnonzero((split_of > 0) & (places >= 0))
    if np.mean(np.isin(places[others], train)) > _MOST_EQUAL:
        return
    remedy = f"{divided(found.pattern)}, with {named('block')} if there are few groups"
    leaking = groups_in_several_splits(found.codes, split_of)
    if len(leaking) and found.num_groups > 1 and table["group"].null_count == len(table):
        shown = f"{counted(found.num_groups, 'group')} that file names show, such as {found.example!r},"
        yield f"{len(leaking):,} of {shown} are in several splits; {remedy}"
    near = others[_is_near(places[others], train)]
    for number, split in enumerate(splits[1:], 1):
        rows = near[split_of[near] == number]
        if len(rows):
            of_train = np.flatnonzero((split_of == 0) & (np.abs(places - places[rows[0]]) <= NEAR))
            pair = " and ".join(printable(table["key"][int(row)].as_py()) for row in (rows[0], of_train[0]))
            what = f"{len(rows):,} of {counted(int(np.sum(split_of == number)), 'example')} of {split}"
            yield f"{what} are within {NEAR} numbers of one of {splits[0]} by their file names: {pair}; {remedy}"


_SCHEMA = pa.schema([("key", pa.string()), ("label_name", pa.string()), ("group", pa.string())])


def _places(keys: pa.ChunkedArray, *, with_folder: bool) -> npt.NDArray[np.int64]:
    """Return int64[n]: the difference of two names with the same start is that of their numbers; -1 for no number.

    That is a hash of the name before its last number, plus the number. Two names of a million fall within 2 by chance
    once in 100,000 datasets.
    """
    before = _BEFORE_NUMBER.replace("[^/]*?", "[^/]*/[^/]*?") if with_folder else _BEFORE_NUMBER
    starts = pc.struct_field(pc.extract_regex(keys, before), "start")
    hashes = hash64_column(starts.fill_null("").cast(pa.string()), seed=0, purpose="key") >> np.uint64(2)
    numbers = last_numbers(keys).fill_null(0).to_numpy()
    places = hashes.astype(np.int64) + numbers
    return np.where(starts.is_null().to_numpy(), -1, places)


def _is_near(places: npt.NDArray[np.int64], train: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return whether a sorted value of train is within NEAR of each value."""
    at = np.searchsorted(train, places - NEAR)
    near = np.zeros(len(places), np.bool_)
    inside = at < len(train)
    near[inside] = train[at[inside]] <= places[inside] + NEAR
    return near
