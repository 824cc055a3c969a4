"""The page of a job that has one."""

from typing import Any
from urllib.parse import quote


def job_link(result: Any) -> str | None:
    """Return the address of a Dataflow job's page; None for jobs of other engines.

    Args:
        result: What Beam returned for the job.
    """
    job = getattr(result, "_job", None)
    project = getattr(job, "project_id", None) or getattr(job, "projectId", None)  # Beam changed its client library
    names = [getattr(job, "location", None), getattr(job, "id", None), project]
    if not all(isinstance(name, str) and name for name in names):
        return None
    region, number, name = (quote(str(part), safe="") for part in names)
    return f"https://console.cloud.google.com/dataflow/jobs/{region}/{number}?project={name}"
