"""What was decided, in the two files that `convert OLD NEW` reads: `--labels fixes.csv` and `--drop drop.txt`.

Each decision replaces one file as a whole, after the new text was read back in the way `convert` reads it: a key or a
class that the format cannot hold is refused, and never lost. A file that another program has changed is read again
first. A file without a decision is removed, because `convert` refuses an empty one.
"""

import contextlib
import csv
import io
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.errors import CallError
from shardkit.naming import first_of
from shardkit.options.words import flag_of, shell_command
from shardkit.record_sources.datasets.changes import find_changes, label_names
from shardkit.record_sources.datasets.key_files import Corrections, DropList
from shardkit.storage.open_files import whole_file
from shardkit.view.rows import Ints, Rows

_OTHER_FOLDER = f"choose another folder with {flag_of('out')}"
LABELS_FILE, DROP_FILE = "fixes.csv", "drop.txt"
Decision = str | None  # the name of the right class; None to drop the example


class Fixes:
    """The decisions about a dataset. Safe for threads.

    Attributes:
        decisions: The decision about each example, by its number; replaced as a whole.
    """

    def __init__(self, rows: Rows, dataset: str, folder: Path) -> None:
        """Continue with the files of a folder, if there are some.

        Args:
            rows: The examples.
            dataset: The dataset as the user named it, for the command.
            folder: The folder of the files; it exists.

        Raises:
            CallError: A file cannot be read as `convert` would, or belongs to another dataset.
            MachineError: A file cannot be read.
        """
        self._rows, self._dataset = rows, dataset
        self._labels_file, self._drop_file = folder / LABELS_FILE, folder / DROP_FILE
        self._lock = threading.Lock()
        self._read()

    def decide(self, numbers: Sequence[int], decision: Decision) -> list[int]:
        """Write one decision about some examples; return them, as `undo` does.

        Args:
            numbers: The examples.
            decision: The name of their class, or None to drop them.

        Raises:
            CallError: A file was changed by another program, a key or the class cannot be written, or there is no such
                class.
            MachineError: A file cannot be written.
        """
        if decision is not None and not self.can_relabel:
            raise CallError("only the class of images with one class each can be corrected; these can be dropped")
        if decision is not None and decision not in self._rows.manifest.classes:
            raise CallError(f"there is no class {decision!r}; choose one of the list")
        with self._lock:
            rows = self._rows.read(sorted({*numbers}))
            before = {row["number"]: self.decisions.get(row["number"], "") for row in rows}
            # Its own class again: nothing to correct.
            after = {row["number"]: "" if row["classes"] == [decision] else decision for row in rows}
            self._write(after)
            self._history.append(before)
            return [*before]

    def undo(self) -> list[int]:
        """Take back the last decision of this run; return its examples.

        Raises:
            CallError: There is none, or a file was changed by another program.
            MachineError: A file cannot be written.
        """
        with self._lock:
            if not self._history:
                raise CallError("there is nothing to undo")
            self._write(self._history[-1])
            return [*self._history.pop()]

    @property
    def can_relabel(self) -> bool:
        """Whether `--labels` takes the dataset: its images have one class each."""
        manifest = self._rows.manifest
        return manifest.features.get(LABEL) == CLASS_LABEL and bool(manifest.classes)

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision of this run."""
        return bool(self._history)

    def numbers(self) -> Ints:
        """Return the examples with a decision, ascending."""
        return np.array(sorted(self.decisions), np.int64)

    def command(self) -> str:
        """Return the command that applies the decisions; empty if there are none."""
        options = {}
        if any(decision is not None for decision in self.decisions.values()):
            options["labels"] = str(self._labels_file)
        if any(decision is None for decision in self.decisions.values()):
            options["drop"] = str(self._drop_file)
        return shell_command("convert", self._dataset, "NEW", **options) if options else ""

    def _read(self) -> None:
        self._stamps = {file: _stamp(file) for file in (self._labels_file, self._drop_file)}
        corrections = Corrections.of(self._labels_file) if self._stamps[self._labels_file] else None
        drop = DropList.of(self._drop_file) if self._stamps[self._drop_file] else None
        decisions: dict[int, Decision] = {}
        if corrections is not None:
            _refuse_other_columns(self._labels_file)
            if not self.can_relabel:
                msg = (
                    f"{self._labels_file}: it has labels, and the images of {self._dataset} do not have one class each"
                )
                raise CallError(f"{msg}; {_OTHER_FOLDER}")
            unknown = sorted({*label_names(corrections)} - {*self._rows.manifest.classes})
            if unknown:
                msg = f"{self._labels_file}: {self._dataset} has no class {first_of([*map(repr, unknown)], 3)}"
                raise CallError(f"{msg}; correct the name, or {_OTHER_FOLDER}")
        if corrections or drop:
            names = label_names(corrections)
            changes = find_changes(self._rows.keys(), drop, corrections, self._dataset)
            for shard, change in enumerate(changes):
                for row, label in change.corrections():
                    decisions[self._rows.number_of(shard, row)] = names[label]
                for row in np.frombuffer(change.dropped, np.int32).tolist():
                    decisions[self._rows.number_of(shard, row)] = None
        self._keys = {row["number"]: row["key"] for row in self._rows.read(sorted(decisions))}
        self.decisions = decisions
        self._history: list[dict[int, Decision]] = []  # what each decision replaced

    def _write(self, changed: Mapping[int, Decision]) -> None:
        """Write the files that differ; the one that gets examples first, so that no decision is lost on the way.

        Args:
            changed: The decision about each example that gets another one; "" for none.
        """
        self._refuse_changed()
        others = {number: decision for number, decision in self.decisions.items() if number not in changed}
        decisions = others | {number: decision for number, decision in changed.items() if decision != ""}
        names = {row["number"]: row["key"] for row in self._rows.read([*changed])}
        keys = self._keys | names
        labels = tuple(sorted((keys[one], name) for one, name in decisions.items() if name is not None))
        dropped = tuple(sorted(keys[one] for one, name in decisions.items() if name is None))
        writes: list[tuple[Path, tuple[Any, ...], Callable[[Any], str], Callable[[Path], tuple[Any, ...]]]] = [
            (self._labels_file, labels, _labels_text, lambda file: Corrections.of(file).labels),
            (self._drop_file, dropped, _drop_text, lambda file: DropList.of(file).keys),
        ]
        if None in changed.values():
            writes.reverse()
        for file, values, text_of, read in writes:
            self._replace(file, values, text_of, read)
        self.decisions, self._keys = decisions, keys

    def _replace(
        self,
        file: Path,
        values: tuple[Any, ...],
        text_of: Callable[[Any], str],
        read: Callable[[Path], tuple[Any, ...]],
    ) -> None:
        if not values:
            file.unlink(missing_ok=True)
        else:
            with whole_file(file, "the decisions") as temporary:

                def is_kept(some: tuple[Any, ...]) -> bool:
                    temporary.write_text(text_of(some), encoding="utf-8", newline="")
                    with contextlib.suppress(CallError):
                        return read(temporary) == some
                    return False

                if not is_kept(values):
                    lost = next((one for one in values if not is_kept((one,))), values[0])
                    key = lost if isinstance(lost, str) else lost[0]
                    msg = f"{file} cannot hold the key {key!r} with its class: line ends or outer spaces would change"
                    raise CallError(f"{msg}; correct it in the source")
        self._stamps[file] = _stamp(file)

    def _refuse_changed(self) -> None:
        changed = [file for file, stamp in self._stamps.items() if _stamp(file) != stamp]
        if changed:
            self._read()
            raise CallError(f"{changed[0]} was changed by another program, and was read again; decide once more")


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """Return what changes with a file's content; None if there is no such file."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _labels_text(labels: Iterable[tuple[str, str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("key", "label"), *labels])
    return out.getvalue()


def _drop_text(keys: Iterable[str]) -> str:
    return "".join(f"{key}\n" for key in keys)


def _refuse_other_columns(file: Path) -> None:
    """Refuse a table with further columns, which would be lost."""
    header = file.read_text(encoding="utf-8-sig").partition("\n")[0].strip()
    if header != "key,label":
        msg = f"{file}: its first line is {header!r}, and what is decided is written as key,label"
        raise CallError(f"{msg}; {_OTHER_FOLDER}")
