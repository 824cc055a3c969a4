"""Which examples a list of the page holds: filters, and the jobs that find them in the background.

A list is found once, in a thread of its own, and kept as numbers of examples; the page asks for its length and for the
rows that are in sight. A new search ends those that nobody waits for.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.conditions import Condition
from shardkit.dataset.features import LABEL, label_feature
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError, MachineError, ShardkitError, UnknownNameError
from shardkit.view.rows import Ints, Rows, as_array

_KEPT_LISTS = 8  # of 8 bytes for each example
_WORDS = re.compile(r"[^=<>']+")  # no condition


class Found(NamedTuple):
    """The examples of a list.

    Attributes:
        numbers: Their numbers.
        sets: int64[n], the set that each belongs to; the members of a set follow each other. None without sets.
        note: What the page says about the list; may be empty.
    """

    numbers: range | Ints
    sets: Ints | None = None
    note: str = ""


Show = Callable[[int, int], None]
Find = Callable[[Rows, Show], Found]


@dataclass(frozen=True, slots=True)
class Query:
    """What the page asks for.

    Attributes:
        name: Name of the list.
        split: Name of a split; empty for all.
        label: Name of a class; empty for all.
        words: Words that the key or a class has, all of them; empty for none.
        where: A condition on the index; empty for none.
        least: Smallest shorter side in pixels; empty for none.
        most: Largest shorter side in pixels; empty for none.
    """

    name: str = "all"
    split: str = ""
    label: str = ""
    words: str = ""
    where: str = ""
    least: str = ""
    most: str = ""

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> "Query":
        """Return the query of an address; other parameters are ignored."""
        return cls(**{one.name: parameters[one.name] for one in fields(cls) if one.name in parameters})

    def conditions(self, rows: Rows) -> list[Condition]:
        """Return the conditions that examples must fulfil, the user's own first.

        Raises:
            CallError: A condition or a number is wrong.
            UnknownNameError: There is no such split or class.
        """
        manifest = rows.manifest
        found = [_condition(self.where)] if self.where.strip() else []
        if self.split and self.split not in rows.spans:
            raise UnknownNameError(f"there is no split {self.split!r}; the dataset has {', '.join(rows.spans)}")
        if self.label:
            if self.label not in classes_of(manifest):
                raise UnknownNameError(f"there is no class {self.label!r}; choose one of the list")
            number = manifest.classes.index(self.label)
            is_single = label_feature(manifest.features) == LABEL
            found.append(Condition(f"label = {number}" if is_single else f"{number} in labels"))
        for value, words in (
            (self.least, ("height >= {0} and width >= {0}")),
            (self.most, "height <= {0} or width <= {0}"),
        ):
            if value:
                if not (value.isascii() and value.isdigit() and len(value) < 8):
                    raise CallError(f"the shorter side is a whole number of pixels; found {value!r}")
                found.append(Condition(words.format(int(value))))
        return found


class Job:
    """A list that is being found.

    Attributes:
        found: The list, when it is done.
        error: Why there is none.
        done: Examples read so far.
        total: Examples to read; 0 while that is not known.
    """

    def __init__(self, find: Callable[[Show], Found]) -> None:
        """Start to find a list."""
        self.found: Found | None = None
        self.error: ShardkitError | None = None
        self.done, self.total = 0, 0
        self._is_cancelled = False
        self._find, self._ended = find, threading.Event()
        threading.Thread(target=self._run, daemon=True, name="shardkit view: list").start()

    def wait(self, seconds: float | None) -> bool:
        """Wait for the end; return whether it has come."""
        return self._ended.wait(seconds)

    def cancel(self) -> None:
        """End at the next shard."""
        self._is_cancelled = True

    def _run(self) -> None:
        try:
            self.found = self._find(self._show)
        except ShardkitError as error:
            self.error = error
        except _CancelledError:
            self.error = CallError("the search was replaced by another one")
        except Exception as error:  # noqa: BLE001 - the page would wait for ever
            self.error = MachineError(f"the list cannot be made: {type(error).__name__}: {error}")
        finally:
            self._ended.set()

    def _show(self, done: int, total: int) -> None:
        if self._is_cancelled:
            raise _CancelledError
        self.done, self.total = done, total


class _CancelledError(Exception):
    pass


class Lists:
    """The lists of a dataset. Safe for threads."""

    def __init__(self, rows: Rows, queues: Mapping[str, Find]) -> None:
        """Make lists of these examples.

        Args:
            rows: The examples.
            queues: The function that finds the examples of each list but "all".
        """
        self._rows, self._queues = rows, queues
        self._kept: dict[Query, Job] = {}
        self._lock = threading.Lock()

    def job(self, query: Query) -> Job:
        """Return the job that finds a list; it is started if there is none.

        Raises:
            CallError: A filter is wrong, or there is no such list.
        """
        if query.name != "all" and query.name not in self._queues:
            raise CallError(f"there is no list {query.name!r}; there are all, {', '.join(self._queues)}")
        query.conditions(self._rows)
        with self._lock:
            job = self._kept.get(query)
            if job is None or job.error is not None:  # what failed is tried again when it is asked for again
                self._make_room()
                job = self._kept[query] = Job(lambda show: self._find(query, show))
            return job

    def _make_room(self) -> None:
        filtered = [query for query in self._kept if query.name == "all" or query != Query(query.name)]
        for query in filtered:
            if query.name == "all" and not self._kept[query].wait(0):
                self._kept.pop(query).cancel()
        for query in filtered[: -_KEPT_LISTS + 1]:
            self._kept.pop(query, None)

    def forget(self, name: str) -> None:
        """Find a list anew when it is asked for again."""
        with self._lock:
            for query in [one for one in self._kept if one.name == name]:
                del self._kept[query]

    def _find(self, query: Query, show: Show) -> Found:
        if query.name == "all":
            return Found(self._filtered(query, show))
        if query == Query(query.name):
            return self._queues[query.name](self._rows, show)
        whole = self._waited(Query(query.name), show)
        chosen = self._waited(replace(query, name="all"), show)
        return restricted(whole, as_array(chosen.numbers))

    def _waited(self, query: Query, show: Show) -> Found:
        job = self.job(query)
        while not job.wait(0.1):
            show(job.done, job.total)
        if job.error is not None:
            raise job.error
        assert job.found is not None  # noqa: S101 - a job that has ended has one or the other
        return job.found

    def _filtered(self, query: Query, show: Show) -> range | Ints:
        conditions, words = query.conditions(self._rows), query.words.split()
        if not (conditions or words):
            return range(*self._rows.spans[query.split]) if query.split else range(self._rows.num)
        columns = {column for condition in conditions for column in condition.columns} | {"offset"}
        columns |= {"key", "label", "labels"} if words else set()
        found = [np.zeros(0, np.int64)]
        for start, table in self._rows.scan(sorted(columns), query.split or None, show):
            mask: npt.NDArray[np.bool_] = np.ones(len(table), np.bool_)
            for condition in conditions:
                mask &= condition.mask(table).to_numpy(zero_copy_only=False)
            for word in words:
                mask &= _has_word(table, word, self._rows.manifest.classes)
            found.append(np.flatnonzero(mask) + start)
        return np.concatenate(found)


def _condition(text: str) -> Condition:
    try:
        return Condition(text)
    except CallError as error:
        if _WORDS.fullmatch(text):
            raise CallError(f"{error}; Search finds words in keys and classes") from None
        raise


def _has_word(table: pa.Table, word: str, classes: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return bool[len(table)], whether a word is in the key or in the name of a class, in any case."""
    mask: npt.NDArray[np.bool_] = pc.match_substring(table["key"], word, ignore_case=True).to_numpy().astype(np.bool_)
    labels = pa.array([label for label, name in enumerate(classes) if word.casefold() in name.casefold()], pa.int64())
    mask |= pc.is_in(table["label"].cast(pa.int64()), labels, skip_nulls=True).to_numpy()
    lists = table["labels"].combine_chunks()
    mask[pc.list_parent_indices(lists).filter(pc.is_in(lists.flatten().cast(pa.int64()), labels)).to_numpy()] = True
    return mask


def classes_of(manifest: Manifest) -> list[str]:
    """Return the classes that images or their objects have; not those of the pixels of masks, which no index names."""
    return [] if label_feature(manifest.features) is None else manifest.classes


def restricted(whole: Found, chosen: Ints) -> Found:
    """Return a list without what no filter chose: of sets, those of which it chose a member are kept whole."""
    numbers = as_array(whole.numbers)
    is_kept = np.isin(numbers, chosen)
    if whole.sets is not None:
        is_kept = np.isin(whole.sets, whole.sets[is_kept])
    return Found(numbers[is_kept], None if whole.sets is None else whole.sets[is_kept], whole.note)
