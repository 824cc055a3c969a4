"""Ask in a terminal which reading of a source is meant: one key chooses, and the answer is saved as a file."""

import os
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from shardkit.cli.terminal import coloured, escape_controls, fitted
from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.call import Call, Change
from shardkit.options.words import words_of
from shardkit.refusals import UnclearError

if TYPE_CHECKING:
    from shardkit.sources.readings.values import Reading

_MOST = 9  # choices that have a key
_EDIT, _QUIT = "e", "q"


def may_ask(error: BaseException) -> bool:
    """Return whether an error is a question that somebody at a terminal can answer."""
    is_question = isinstance(error, UnclearError) and error.call is not None and bool(error.refusal.changes)
    return is_question and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def choose(error: UnclearError) -> list[str] | None:
    """Ask, save the answer in the current folder, and return the words of the call to run now; None for no call."""
    call, changes = error.call, error.refusal.changes[:_MOST]
    assert call is not None  # noqa: S101 - `may_ask` has seen it
    click.echo(fitted(escape_controls(error.refusal.problem)), err=True)
    for number, change in enumerate(changes, 1):
        click.echo(f"  {coloured(str(number), 'cyan')}  {fitted(escape_controls(_shown(change)))}", err=True)
    if error.refusal.appendix:
        click.echo(escape_controls(f"\n{error.refusal.appendix}\n"), err=True)
    keys = [*map(str, range(1, len(changes) + 1)), _EDIT, _QUIT]
    numbers = {1: "1", 2: "1 or 2"}.get(len(changes), f"1 to {len(changes)}")
    click.echo(f"Read it as {numbers}; {_EDIT} to edit the first, {_QUIT} to quit: ", err=True, nl=False)
    key = _key(keys)
    click.echo(key, err=True)
    if key == _QUIT:
        return None
    change = changes[0 if key == _EDIT else int(key) - 1]
    changed = call.changed(change)
    reading = _reading_of(changed)
    if reading is None:
        return changed.words
    return _saved(call, change, reading, is_edited=key == _EDIT)


def _key(keys: list[str]) -> str:
    while (key := click.getchar().lower()) not in keys:
        if not key:  # the terminal is gone
            return _QUIT
    return key


def _shown(change: Change) -> str:
    """Return what a change means, and the options that say it if they are short."""
    said = shlex.join(word for name, value in change.options.items() for word in words_of(name, value))
    return change.meaning if "reading" in change.options or not said else f"{change.meaning}  ({said})"


def _reading_of(call: Call) -> "Reading | None":
    from shardkit.sources.readings.given import given_reading

    try:
        return given_reading(call.given)
    except CallError:  # the change names a layout
        return None


def _saved(call: Call, change: Change, reading: "Reading", *, is_edited: bool) -> list[str]:
    """Save a reading, and return the words of the call that uses it."""
    from shardkit.sources.readings.text import as_config

    text = as_config(reading)
    if is_edited:
        edited = click.edit(text, extension=".yaml")
        text = text if edited is None else edited
    path = _free_path(call.sources[0], text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    stated = {"label", "split", "group", "boxes", "mask", "features", "images", "match", "root", "ignore", "unlabelled"}
    stated |= {"label_type", "label_separator", "uncertain", "without_annotation", "image_column", "path_prefix"}
    rest = {name: value for name, value in change.options.items() if name not in stated}
    given = {name: value for name, value in call.given.items() if name not in stated}
    again = replace(call, given=given).changed(replace(change, options={**rest, "reading": path}))
    click.echo(f"Saved as {printable(path)}; later: {again.line}", err=True)
    return again.words


def _free_path(source: str, text: str) -> str:
    """Return a name for the file of a source's reading that holds nothing else."""
    name = os.path.basename(source.rpartition("=")[2].rstrip("/")) or "source"
    for number in range(1, 1000):
        path = f"{name}.reading{f'-{number}' * (number > 1)}.yaml"
        if not os.path.lexists(path):
            return path
        with open(path, encoding="utf-8", errors="replace") as file:
            if file.read() == text:
                return path
    raise CallError(f"{name}.reading.yaml and 999 more exist; remove those that are not needed")
