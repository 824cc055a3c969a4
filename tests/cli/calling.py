"""Call shardkit as a user does: in this process where that is the real thing, else as a process of its own."""

import contextlib
import logging
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

from click.testing import CliRunner

import shardkit
from shardkit.cli import main
from shardkit.cli.progress import displays

from ..reader.processes import PIPE, Process

CHECKOUT = Path(shardkit.__file__).parent.parent
SAMPLE_DATA = Path(__file__).parent.parent.parent / "sample_data"
# Beam's runner for one process, by the path of its class: DirectRunner would download Prism first.
IN_PROCESS_RUNNER = "--runner=apache_beam.runners.portability.fn_api_runner.FnApiRunner"
TIMEOUT_SECONDS = 120  # no conversion here takes a tenth of it: what runs longer hangs

# Of the half second of CPU that a command takes to start, most is for these modules.
MODULES = ("shardkit.cli.main", "shardkit.conversion.writing.conversion", "shardkit.sources.opening")
MODULES += ("shardkit.parallel.threads", "shardkit.verification.shards", "shardkit.view.serving")

# On a busy machine any phase lasts long enough for a line of progress; tests of progress set a time of their own.
displays.FIRST_LOG_SECONDS = TIMEOUT_SECONDS


def call(*arguments):
    """The result of `shardkit …` in this process; an exception that would reach a user is raised."""
    with own_logging():
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@contextlib.contextmanager
def own_logging():
    """Take back what `--log-format json` changes in its process, for the tests that follow in this one."""
    handlers, hook = logging.getLogger().handlers[:], sys.excepthook
    yield
    logging.captureWarnings(capture=False)
    logging.getLogger().handlers[:], sys.excepthook = handlers, hook


def convert(*arguments, exit_code=0):
    """`shardkit convert …` that ends with that exit code; what it said on standard error."""
    result = call("convert", *arguments)
    assert result.exit_code == exit_code, result.output
    return result.stderr


def answered(*arguments):
    """What `shardkit …` asks about a source that it is not sure of, and the result of the first command it prints."""
    asked = call(*arguments)
    assert asked.exit_code == 2, asked.output
    assert ", and asks first, because " in asked.stderr
    first = next(line for line in asked.stderr.splitlines() if line.startswith("  shardkit "))
    assert "# as it was recognised" in first
    return asked.stderr, call(*shlex.split(first, comments=True)[1:])


def without_progress(stderr):
    """The lines on standard error but for those of progress, which a busy machine gives time for."""
    progress = re.compile(r"(listing|checking|planning|writing|reading|verifying): ")
    return [line for line in stderr.splitlines() if not progress.match(line)]


def environment(**changed):
    """A user's environment, with shardkit importable."""
    return os.environ | {"PYTHONPATH": str(CHECKOUT)} | changed


def start(*arguments, **options):
    """`python -m shardkit …` as a process, its outputs piped, in bytes."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment(), **options}
    return subprocess.Popen([sys.executable, "-m", "shardkit", *map(str, arguments)], **given)


def run(*arguments, started_by=(), **options):
    """The same, waited for; outputs as text. `started_by`: a program that ends by executing its arguments."""
    command = [*started_by, sys.executable, "-m", "shardkit", *map(str, arguments)]
    given = {"env": environment(), "timeout": TIMEOUT_SECONDS, **options}
    return subprocess.run(command, capture_output=True, text=True, check=False, **given)


def start_forked(*arguments, env=None, **options):
    """The same as `start`, in a process that has imported its modules; for tests of what a command does after them."""
    program = Path(__file__).parent / "programs" / "console_script.py"
    given = {"stdout": PIPE, "stderr": PIPE, "modules": MODULES, **options}
    return Process([program, *arguments], env or environment(), **given)


def run_forked(*arguments, **options):
    """The same as `run`, in such a process."""
    process = start_forked(*arguments, **options)
    stdout, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def is_one_sentence(stderr):
    """Whether an error is what a user can read: no traceback, no runner's dump, one line that begins with Error."""
    lines = [line for line in stderr.splitlines() if line.startswith("Error: ")]
    return len(lines) == 1 and "Traceback" not in stderr and len(stderr.splitlines()) <= 5


def start_reading(master):
    """A thread that reads what is shown on a terminal until its other end is closed, and what it has read so far."""
    shown = bytearray()

    def drain():
        try:
            while chunk := os.read(master, 1 << 16):
                shown.extend(chunk)
        except OSError:  # how Linux says that the other end is closed
            pass

    reader = threading.Thread(target=drain)
    reader.start()
    return reader, shown
