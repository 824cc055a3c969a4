"""Print what the workers of each host reported to the doctor."""

from collections.abc import Collection, Sequence
from itertools import groupby

from rich.table import Table

from shardkit.cli.printing.lines import table
from shardkit.doctor.worker_report import SourceView, WorkerReport
from shardkit.doctor.workers import other_versions
from shardkit.naming import printable

_SHOWN = {"shardkit": "shardkit", "python": "Python", "beam": "Beam", "pillow": "Pillow"}


def hosts_table(
    reports: Sequence[WorkerReport], versions: dict[str, str], source: SourceView, probes: Collection[str]
) -> Table:
    """Return a table with a row for each host, after one for the driver.

    Args:
        reports: One report for each process, sorted by host.
        versions: The driver's versions.
        source: What the driver sees of the source.
        probes: Paths of the workers' files that the driver sees in the output.
    """
    made = table("host", "processes", "versions", "sees SOURCE", "writes OUTPUT", "seconds")
    shown = ", ".join(f"{label} {versions[name]}" for name, label in _SHOWN.items())
    made.add_row("(driver)", "", shown, "yes" if not source.error else "no", "yes", "")
    for host, group in groupby(reports, key=lambda report: report.host):
        found = list(group)
        others = {other_versions(versions, report.versions) for report in found} - {""}
        seen = all(not source.difference(report.source) for report in found)
        writes = all(not report.output_error and report.probe in probes for report in found)
        made.add_row(
            printable(host),
            str(len(found)),
            "others, see below" if others else "the driver's",
            "yes" if seen else "no",
            "yes" if writes else "no",
            f"{max(report.seconds for report in found):.2f}",
        )
    return made
