"""Define ``shardkit``, the group of all commands."""

import contextlib
import importlib
import io
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

import click

from shardkit.__main__ import AT_START, end_interrupted
from shardkit.cli.options.beam import unknown_option
from shardkit.cli.progress.displays import (
    ERASE_LINE,
    JSON,
    capture_other_output,
    is_live,
    json_line,
    log_format_of,
    write_json,
)
from shardkit.cli.terminal import coloured, escape_controls, fitted
from shardkit.errors import CallError, MachineError, ShardkitError
from shardkit.extras import missing_extra
from shardkit.options.words import shown, written_as
from shardkit.software import __version__
from shardkit.spelling import closest

# Each command, named like its module, with its line in `shardkit --help`: listing them loads no command.
_COMMANDS = {
    "adopt": "Give TFRecords that others wrote a manifest and indexes, and change no byte of them.",
    "append": "Append new images to a dataset.",
    "bench": "Measure how fast this host feeds a trainer, and what would help.",
    "convert": "Convert a folder of labelled images into balanced TFRecord shards.",
    "diff": "Compare two datasets example by example; exit with 1 if they differ.",
    "doctor": "Check a runner and its workers before a long job.",
    "export": "Write what other tools read: Croissant, DALI, Hugging Face, WebDataset.",
    "extract": "Write a dataset back to folders of images.",
    "help": "Print a page of the documentation.",
    "info": "Show the contents of a dataset.",
    "plan": "Show what a conversion would write, and why; write nothing.",
    "preview": "Draw a contact sheet of a dataset.",
    "report": "Write one HTML page about a dataset or a source.",
    "script": "Print a training program for a dataset.",
    "show": "Show one example.",
    "verify": "Check every byte of a dataset; exit with 1 on any problem.",
    "view": "Open a local page to browse and correct a dataset.",
}
# The page about each command, which its help names.
_PAGES = {
    "adopt": "dataset",
    "append": "sources/datasets",
    "bench": "reader/performance",
    "convert": "sources",
    "diff": "dataset",
    "doctor": "beam",
    "export": "dataset",
    "extract": "records",
    "info": "dataset",
    "plan": "sources",
    "preview": "records",
    "report": "report",
    "script": "programs",
    "show": "records",
    "verify": "dataset",
    "view": "view",
}
_IS_JSON = "shardkit.is_json"  # key in click's `meta`, which all contexts of a call share
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"  # the file that frames of an import name


class _Commands(click.Group):
    def main(self, *args: Any, **kwargs: Any) -> Any:
        with written_as("command"):  # messages name options by their flags
            return super().main(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"shardkit.cli.{name}"), name)
        if name in _PAGES:
            command.epilog = f"`shardkit help {_PAGES[name]}` prints the page about it."
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_IS_JSON] = log_format_of(args) == JSON  # before options are checked: errors have this format too
        if ctx.meta[_IS_JSON]:
            capture_other_output()
        with _errors_as_json(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            close = closest(name, _COMMANDS)
            # A path: the command was forgotten.
            hint = f"did you mean {close}?" if close else f"the commands are {', '.join(_COMMANDS)}"
            if not close and os.path.exists(name):
                hint = f"did you mean `{shlex.join(['shardkit', 'convert', *args])}`?"
            raise _Failure(f"no such command: {name}; {hint}", CallError.exit_code)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        with _errors_as_json(ctx):
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            with _interruptible(ctx):
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.ctx is None:
                raise
            unknown = unknown_option(error.option_name, error.ctx.command)
            raise _Failure(str(unknown), unknown.exit_code) from None
        except ShardkitError as error:
            if not ctx.meta[_IS_JSON] and _may_ask(error):
                return _answered(ctx, error)
            raise _Failure(escape_controls(shown(str(error))), error.exit_code) from error
        except ModuleNotFoundError as error:
            missing = missing_extra(error, f"shardkit {ctx.invoked_subcommand}")
            if missing is None:
                raise
            raise _Failure(str(missing), missing.exit_code) from error
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            sentence = escape_controls(f"{where}{error.strerror or error}")
            raise _Failure(sentence, MachineError.exit_code) from error


def _may_ask(error: ShardkitError) -> bool:
    from shardkit.cli.choosing import may_ask

    return may_ask(error)


def _answered(ctx: click.Context, error: ShardkitError) -> Any:
    """Ask which reading of a source is meant, and run the command with the answer."""
    from shardkit.cli.choosing import choose
    from shardkit.refusals import UnclearError

    assert isinstance(error, UnclearError)  # noqa: S101 - `may_ask` has seen it
    with _interruptible(ctx):
        words = choose(error)
    if words is None:
        raise SystemExit(CallError.exit_code)
    return main.main(words[1:], prog_name="shardkit", standalone_mode=False)


@contextlib.contextmanager
def _interruptible(ctx: click.Context) -> Iterator[None]:
    """Treat SIGTERM, which schedulers send, like Ctrl-C, so that the run stops its workers.

    While a module is loaded, the process ends at once: libraries turn a KeyboardInterrupt in their imports into other
    errors, and Python drops one that is raised in a callback of its import system. Whatever error it becomes elsewhere,
    the command was interrupted.
    """
    is_interrupted = False

    def interrupt(_: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        if _is_importing(frame):
            _end_interrupted(ctx)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # Python allows handlers there only
        yield
        return
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as nohup does
    numbers = [signal.SIGTERM] if is_ignored else [signal.SIGTERM, signal.SIGINT]
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    except BaseException as error:
        if is_interrupted or isinstance(error, KeyboardInterrupt):
            _end_interrupted(ctx)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORT_SYSTEM:
            return True
        frame = frame.f_back
    return False


def _end_interrupted(ctx: click.Context) -> NoReturn:
    sentence = AT_START
    if ctx.invoked_subcommand in {"append", "convert"}:
        sentence = "Interrupted. Finished work is kept; run the same command again to resume."
    if ctx.meta[_IS_JSON]:
        sentence = json_line("warning", sentence)
    elif is_live():  # the terminal itself has printed ^C
        sentence = f"{ERASE_LINE}{sentence}"
    end_interrupted(sentence)


class _Failure(click.ClickException):
    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code  # type: ignore[misc] # click declares it on the class

    def show(self, file: Any = None) -> None:
        text = fitted(f"Error: {self.format_message()}")
        click.echo(text.replace("Error:", coloured("Error:", "red"), 1), file=file, err=file is None)


class _UsageFailure(_Failure):
    """An error that click found in a call: it shows how the command is used, too."""

    def __init__(self, error: click.ClickException) -> None:
        super().__init__(error.format_message(), error.exit_code)
        self._error = error

    def show(self, file: Any = None) -> None:
        text = io.StringIO()
        self._error.show(text)
        lines = text.getvalue().replace("\nError:", f"\n{coloured('Error:', 'red')}", 1)
        click.echo(lines, file=file, err=file is None, nl=False)


class _JsonFailure(_Failure):
    def show(self, file: Any = None) -> None:
        del file
        write_json("error", self.format_message())


@contextlib.contextmanager
def _errors_as_json(ctx: click.Context) -> Iterator[None]:
    """Show errors as JSON if `--log-format json` is given, also those that click finds in a call."""
    try:
        yield
    except click.ClickException as error:
        if not ctx.meta[_IS_JSON]:
            if isinstance(error, click.UsageError):
                raise _UsageFailure(error) from error
            raise
        raise _JsonFailure(error.format_message(), error.exit_code) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__)
def main() -> None:
    """Convert folders of labelled images into balanced TFRecord shards, and check the result.

    `shardkit COMMAND --help` lists the options of a command; `shardkit help` lists the pages of the documentation.

    Exit codes: 0 success; 1 the data is faulty or differs; 2 the call is wrong; 3 the machine, disk or network failed;
    130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        # Escape characters that the terminal's encoding lacks, instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
