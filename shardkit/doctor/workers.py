"""Compare what workers report with what the driver sees."""

from collections.abc import Collection, Iterator, Sequence

from shardkit import software
from shardkit.doctor.check import Check
from shardkit.doctor.worker_report import SourceView, WorkerReport
from shardkit.naming import counted


def other_versions(driver: dict[str, str], worker: dict[str, str]) -> str:
    """Return the versions of a worker that differ from the driver's, in words; empty if none matters."""
    names = software.differing(driver, worker)
    return ", ".join(f"{name} {worker.get(name, 'none')} (driver {driver.get(name, 'none')})" for name in names)


def check_workers(
    reports: Sequence[WorkerReport], versions: dict[str, str], source: SourceView, probes: Collection[str]
) -> Iterator[Check]:
    """Yield a check for each thing that a worker's host lacks, and one for all if nothing is wrong.

    Args:
        reports: One report for each process; see `merged`.
        versions: The driver's versions.
        source: What the driver sees of the source.
        probes: Paths of the workers' files that the driver sees in the output.
    """
    wrong = False
    told: set[tuple[str, str]] = set()
    for report in reports:
        for check in _check_worker(report, versions, source, probes):
            wrong = True
            if (check.name, check.found) not in told:  # several processes of a host say the same
                told.add((check.name, check.found))
                yield check
    if not reports:
        yield Check("workers", "failed", "the job ended, and no worker reported", "see the engine's log")
    elif not wrong:
        hosts = len({report.host for report in reports})
        processes = "1 process" if len(reports) == 1 else f"{len(reports)} processes"
        found = f"{processes} on {counted(hosts, 'host')}"
        yield Check("workers", "ok", f"{found} see SOURCE, write into OUTPUT and have the driver's versions")


def _check_worker(
    report: WorkerReport, versions: dict[str, str], source: SourceView, probes: Collection[str]
) -> Iterator[Check]:
    who = f"host {report.host}"
    if unseen := source.difference(report.source):
        remedy = "mount the source there under the same path, or end that host's workers"
        yield Check("workers see SOURCE", "failed", f"{who}: SOURCE: {unseen}", remedy)
    if report.output_error:
        remedy = "every worker must reach OUTPUT under the same path, with the right to write there"
        yield Check("workers write OUTPUT", "failed", f"{who}: OUTPUT: {report.output_error}", remedy)
    elif report.probe not in probes:
        remedy = "every worker must reach OUTPUT under the same path"
        yield Check(
            "workers write OUTPUT", "failed", f"{who}: the driver does not see what it wrote into OUTPUT", remedy
        )
    if others := other_versions(versions, report.versions):
        remedy = "install the driver's versions there: other ones write other bytes"
        yield Check("workers' versions", "failed", f"{who}: {others}", remedy)
