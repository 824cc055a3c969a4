"""Ask Flink about a job whose workers are silent: whether it has arrived, and waits for slots or for workers."""

from dataclasses import dataclass
from http.client import HTTPException
from typing import Literal, TypeAlias

from shardkit.doctor.engine import Engine
from shardkit.doctor.flink import ask_flink

# unknown: Flink has no such job. waiting: for slots. working: its tasks have slots, and wait for Beam's workers.
Waits: TypeAlias = Literal["unknown", "waiting", "working"]
_WAITING = ("created", "scheduled", "deploying", "initializing")


@dataclass(frozen=True, slots=True)
class FlinkJob:
    """A job in Flink's words.

    Attributes:
        state: Flink's word for the job's state; empty if Flink has no such job.
        num_waiting: Number of the job's tasks that have not begun.
        num_running: Number of the job's tasks that run.
        free_slots: Number of free slots of the cluster.
        num_slots: Number of slots of the cluster.
    """

    state: str
    num_waiting: int
    num_running: int
    free_slots: int
    num_slots: int

    @property
    def waits(self) -> Waits:
        """What the job waits for."""
        if not self.state:
            return "unknown"
        return "working" if self.num_running else "waiting"

    @property
    def sentence(self) -> str:
        """What Flink says, as a part of a sentence."""
        slots = f"{self.free_slots} of {self.num_slots} slots are free"
        if not self.state:
            return f"Flink has no such job yet, and {slots}"
        tasks = f"{self.num_running} of its tasks run and {self.num_waiting} wait"
        return f"Flink says that the job is {self.state}, {tasks}, and {slots}"


def look_at_job(engine: Engine, name: str) -> FlinkJob | None:
    """Return what Flink says about a job; None if the engine is not a Flink with a known address, or does not answer.

    Args:
        engine: The engine.
        name: Name of the job; it ends in digits that no other job's name has.
    """
    if engine.flink is None or engine.kind not in {"flink", "portable"}:
        return None
    digits = name.rpartition("-")[2]  # the job server may add to the name
    try:
        slots = ask_flink(engine, "overview")
        jobs = [one for one in ask_flink(engine, "jobs/overview")["jobs"] if digits in one["name"]]
        tasks = jobs[0]["tasks"] if jobs else {}
        return FlinkJob(
            state=str(jobs[0]["state"]) if jobs else "",
            num_waiting=sum(int(tasks.get(word, 0)) for word in _WAITING),
            num_running=int(tasks.get("running", 0)),
            free_slots=int(slots["slots-available"]),
            num_slots=int(slots["slots-total"]),
        )
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None
