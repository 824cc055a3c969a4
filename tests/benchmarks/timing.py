"""Run contenders turn about, each as its own whole process, and print what they took as one table.

Wall time is the whole process's, start-up and imports included. CPU seconds are user and system time of the process
and of the children that it waited for; on a busy machine they are the steadier figure. Peak memory is the largest
resident set of a single process, as the kernel reports it (a contender that forks workers uses more than it shows).

Ratios compare runs of the same round, because rounds differ more than contenders do where others use the machine.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
CONTENDERS = Path(__file__).resolve().parent / "contenders"
ERROR_LINES_SHOWN = 5
KIB_IN_MIB = 1 << 10


@dataclass(frozen=True, slots=True)
class Contender:
    """A command that is timed.

    Attributes:
        name: what the table calls it.
        command: program and arguments.
        output: file or folder that it writes, removed before and after every run; None where it writes nothing.
        against: name of the contender that its ratio is taken to; None for none.
        target: the ratio or figure that is aimed at, as the table prints it.
    """

    name: str
    command: Sequence[str]
    output: Path | None = None
    against: str | None = None
    target: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run took; ``figures`` is the JSON object on its last line of output, where there is one."""

    seconds: float
    cpu_seconds: float
    peak_mib: float
    figures: dict[str, float] = field(default_factory=dict)


def python(script: str, *arguments: object) -> list[str]:
    """The command of a contender in ``contenders/``, run by this interpreter."""
    return [sys.executable, str(CONTENDERS / script), *map(str, arguments)]


def shardkit(*arguments: object) -> list[str]:
    """A shardkit command, run by this interpreter."""
    return [sys.executable, "-m", "shardkit", *map(str, arguments)]


def turn_about(contenders: Sequence[Contender], rounds: int) -> dict[str, list[Run]]:
    """Run all contenders so many times, in the order A B C A B C.

    Returns:
        The runs by contender's name, one a round. One that failed is said so and is not in it.
    """
    runs: dict[str, list[Run]] = {contender.name: [] for contender in contenders}
    for round_index in range(rounds):
        for contender in contenders:
            if contender.name not in runs:
                continue
            _note(f"round {round_index + 1} of {rounds}: {contender.name}")
            try:
                runs[contender.name].append(run(contender))
            except RuntimeError as error:
                _note(str(error))
                del runs[contender.name]
    return runs


def run(contender: Contender) -> Run:
    """Run one contender once.

    Raises:
        RuntimeError: it failed; the message ends with its last words.
    """
    _remove(contender.output)
    os.sync()  # what the one before wrote must not be flushed at this one's cost
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")])),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        start = time.perf_counter()
        process = subprocess.Popen(contender.command, stdout=said, stderr=complained, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output, errors = (_text(file) for file in (said, complained))
    _remove(contender.output)
    if process.returncode:
        last = "\n  ".join(errors.strip().splitlines()[-ERROR_LINES_SHOWN:])
        msg = f"{contender.name} failed with exit code {process.returncode}:\n  {last}"
        raise RuntimeError(msg)
    lines = output.strip().splitlines()
    figures = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / KIB_IN_MIB, figures)


def median(runs: Sequence[Run], value: Callable[[Run], float]) -> float:
    """The median of a value over runs."""
    return statistics.median(map(value, runs))


def figure(name: str) -> Callable[[Run], float]:
    """What takes a figure out of a run."""
    return lambda run: run.figures[name]


def ratio(runs: Sequence[Run], others: Sequence[Run], value: Callable[[Run], float]) -> float:
    """The median over rounds of value here over value there."""
    return statistics.median(value(a) / value(b) for a, b in zip(runs, others, strict=True))


def process_table(contenders: Sequence[Contender], runs: dict[str, list[Run]]) -> list[list[str]]:
    """Rows for ``print_table``: wall time with its range, CPU, memory, ratios and target of whole processes."""
    rows = [["", "wall s", "least-most", "CPU s", "peak MiB", "wall ratio", "CPU ratio", "to", "target"]]
    for contender in contenders:
        mine = runs.get(contender.name)
        if not mine:
            rows.append([contender.name, "failed", *[""] * 7])
            continue
        wall = [one.seconds for one in mine]
        theirs = runs.get(contender.against or "")
        ratios = ["", ""] if not theirs else [f"{ratio(mine, theirs, value):.2f}" for value in (_wall, _cpu)]
        rows.append(
            [
                contender.name,
                f"{median(mine, _wall):.2f}",
                f"{min(wall):.2f}-{max(wall):.2f}",
                f"{median(mine, _cpu):.2f}",
                f"{median(mine, _peak):.0f}",
                *ratios,
                contender.against or "",
                contender.target,
            ]
        )
    return rows


def _wall(run: Run) -> float:
    return run.seconds


def _cpu(run: Run) -> float:
    return run.cpu_seconds


def _peak(run: Run) -> float:
    return run.peak_mib


def print_table(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print rows, the first being the heading; the first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print(f"\n{title}")
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells).rstrip())


@contextmanager
def work_folder(given: Path | None) -> Iterator[Path]:
    """The folder given, kept so that a second call finds its sources made; else one that is removed at the end."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="shardkit-benchmark-") as made:
        yield Path(made)


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode(errors="replace"))


def _remove(path: Path | None) -> None:
    if path is None:
        return
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
