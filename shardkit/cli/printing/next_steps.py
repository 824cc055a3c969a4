"""The commands and the Python lines that commands print at their end: pasted as they are, they run."""

import shlex
from typing import TYPE_CHECKING

from shardkit.cli.printing.lines import COMMAND, Verbatim
from shardkit.dataset.export_list import old_exports
from shardkit.dataset.features import has_labels
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.unlabelled import unlabelled_condition
from shardkit.exporting import targets_of
from shardkit.naming import first_of, printable
from shardkit.storage import Folder

if TYPE_CHECKING:
    from shardkit.dataset.manifest import Manifest


BATCH = 32
WIDTH = 80  # columns of a usual terminal
FILES_SHOWN = 10


def next_steps(manifest: "Manifest", output: str) -> list[Verbatim]:
    """Return the lines."""
    lines = ["", "Next:", *_command("verify", output, "--deep"), *_command("info", output)]
    if manifest.rejected.num_examples:
        lines += _command("info", output, "--rejected")
    split = next((name for name, split in manifest.splits.items() if split.num_examples), None)
    if split is not None:
        lines += [*_command("view", output), *_command("report", output)]
        chosen = manifest.splits[split]
        batch, where = min(BATCH, chosen.num_labelled or chosen.num_examples), ""
        if chosen.num_unlabelled:
            where = unlabelled_condition(manifest.features, keeps=not chosen.num_labelled)
        if has_labels(manifest.features):
            lines += _command("script", output, into="train.py")
        # Not indented: Python refuses a pasted line that begins with blanks.
        lines += ["", "In Python, the first batch:", *_snippet(output, split, batch, where), *_first_batch(manifest)]
    return list(map(Verbatim, lines))


def _command(name: str, *arguments: str, into: str = "") -> list[str]:
    """Return the lines of a command; the shell joins two that end and begin at a backslash."""
    given = f"{shlex.join(arguments)} > {into}" if into else shlex.join(arguments)
    line = f"{COMMAND}{name} {given}"
    return [line] if len(line) <= WIDTH else [f"{COMMAND}{name} \\", f"    {given}"]


def _snippet(output: str, split: str, batch: int, where: str) -> list[str]:
    """Return Python lines; the call is on several lines if it is wider than WIDTH."""
    place = f"{_quoted(output)}, {_quoted(split)}, " + (f"where={_quoted(where)}, " if where else "")
    rest = f"global_batch_size={batch}, image_size=(224, 224)"
    call = [f"batches = reader.make_dataset({place}{rest})"]
    if len(call[0]) > WIDTH:
        lines = [f"    {place}{rest}"] if len(place + rest) <= WIDTH - 4 else [f"    {place}".rstrip(), f"    {rest}"]
        call = ["batches = reader.make_dataset(", *lines, ")"]
    return ["from shardkit import reader", *call]


def _first_batch(manifest: "Manifest") -> list[str]:
    if has_labels(manifest.features):
        return ["images, labels = next(iter(batches))", "print(images.shape, labels)"]
    return ["images = next(iter(batches))", "print(images.shape)"]


def _quoted(text: str) -> str:
    """Return a Python literal, in double quotes where that needs no escapes."""
    literal = repr(text)
    return f'"{literal[1:-1]}"' if '"' not in literal else literal


def old_exports_lines(folder: Folder, manifest: Manifest, dataset: str) -> list[str]:
    """Return the lines; none if all exported files in the dataset's folder describe it as it is."""
    old = old_exports(folder, manifest.digest)
    if not old:
        return []
    names = first_of([*map(printable, old)], FILES_SHOWN)
    targets = targets_of(old)
    facts = "" if targets == ["dali-index"] else ", with the same --title, --license and other facts"
    commands = [f"{COMMAND}export {shlex.join([dataset, '--to', target])}" for target in targets]
    return [f"exported from an earlier state of the dataset: {names}; export again{facts}:", *commands]
