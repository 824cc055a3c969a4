"""The command ``shardkit doctor SOURCE OUTPUT``: check a runner and its workers before a long job."""

from typing import TYPE_CHECKING

import click

from shardkit.cli.options.beam import BeamOptionsCommand
from shardkit.cli.options.conversion import refuse_unknown_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardkit.beam.options import RunnerConfig
    from shardkit.cli.terminal import Terminal
    from shardkit.doctor.check import Check
    from shardkit.parallel.for_each import Executor

ANSWER_SECONDS = 120  # Flink takes 10 s to start a job, and 57 s were seen on a busy host
DATAFLOW_SECONDS = 600


@click.command(cls=BeamOptionsCommand)
@click.argument("source")
@click.argument("output")
@click.option(
    "--timeout",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    help=f"Time for the workers to answer, such as on a cluster that is busy.  [default: {ANSWER_SECONDS}; "
    f"Dataflow, which starts hosts first: {DATAFLOW_SECONDS}]",
)
@click.argument("beam_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM_OPTIONS]")
def doctor(source: str, output: str, timeout: int | None, beam_options: tuple[str, ...]) -> None:
    """Check this host, and a runner and its workers, before a long conversion of SOURCE into OUTPUT.

    On this host: addresses, versions, the workers' environment, paths, disk and memory. With a runner, a tiny job then
    shows which hosts work, and whether they have the driver's versions, see SOURCE and write into OUTPUT. Nothing is
    converted, and OUTPUT is left as it was.

    Add --runner and the other options of Beam that the conversion will have.
    """
    from shardkit.extras import require_extra

    require_extra("convert", "the doctor")
    if beam_options:
        refuse_unknown_options(beam_options, source, output)
    from shardkit.cli.terminal import Terminal
    from shardkit.conversion.option_values import location, source_location
    from shardkit.doctor.driver import check_runner
    from shardkit.doctor.resources import check_resources
    from shardkit.errors import CallError, MachineError
    from shardkit.naming import counted, printable

    terminal = Terminal(quiet=False)
    source, output = location("SOURCE", source), location("OUTPUT", output)
    runner = _runner(beam_options)
    checks: list[Check] = []
    # Each step needs what the one before checked: a path that nobody can reach cannot be listed.
    for step in (
        lambda: () if runner is None else check_runner(runner.engine, SOURCE=source, OUTPUT=output),
        lambda: (*check_resources(source_location(source), output), *_check_output(output)),
        lambda: (_check_workers(runner, source, output, terminal, timeout),),
    ):
        for check in step():
            sentence = check.sentence if check.sentence.startswith(check.name) else f"{check.name}: {check.sentence}"
            terminal.show(f"{check.status:<8} {printable(sentence)}")
            checks.append(check)
        if any(check.status == "failed" for check in checks):
            break
    if failed := [check for check in checks if check.status == "failed"]:
        msg = f"not ready to convert: {counted(len(failed), 'check')} failed, see above"
        raise CallError(msg) if failed[0].is_call else MachineError(msg)
    num_warnings = sum(check.status == "warning" for check in checks)
    warned = f"; {counted(num_warnings, 'warning')} above" if num_warnings else ""
    terminal.show(f"ready to convert{warned}")


def _runner(beam_options: tuple[str, ...]) -> "RunnerConfig | None":
    """Return the configuration of the runner; None for threads of this process, which need no Beam."""
    if not beam_options:
        return None
    from shardkit.beam.options import runner_config

    return runner_config(beam_options)


def _check_output(output: str) -> "Iterator[Check]":
    """Yield a failed check if OUTPUT is not a folder, or holds files that no conversion wrote."""
    from shardkit.conversion.writing.output.output_folder import refuse_foreign
    from shardkit.doctor.check import Check
    from shardkit.errors import CallError
    from shardkit.storage import open_folder

    try:
        refuse_foreign(open_folder(output))
    except (CallError, OSError) as error:
        yield Check("OUTPUT", "failed", str(error), is_call=isinstance(error, CallError))


def _check_workers(
    runner: "RunnerConfig | None", source: str, output: str, terminal: "Terminal", timeout: int | None
) -> "Check":
    """Run the tiny job, on threads of this process if there is no runner."""
    from shardkit.doctor.workers import check_workers
    from shardkit.parallel.threads import ThreadExecutor

    is_slow = runner is not None and runner.engine.kind == "dataflow"
    seconds = timeout or (DATAFLOW_SECONDS if is_slow else ANSWER_SECONDS)
    executor: Executor = ThreadExecutor(1)
    if runner is not None:
        from shardkit.beam.conversion import BeamExecutor

        executor = BeamExecutor(runner)
        terminal.say(f"asking the workers, for {seconds} s at most (--timeout) …")
    return check_workers(executor, source, output, seconds, terminal.say)
