"""The file in an output that names the run which writes into it; `run_token` has its use."""

import json
from dataclasses import dataclass

from shardkit import naming
from shardkit.storage import Folder

PATH = f"{naming.WORK_FOLDER}/run"
WAITING = "is_waiting"  # a field of the file of a job without a driver, none of whose tasks has begun


@dataclass(frozen=True, slots=True)
class RunToken:
    """What each worker carries."""

    value: str  # random; another one for each run
    plan_digest: str = ""  # of the plan that is written; '' while the inventory is taken

    def is_of(self, found: "RunToken") -> bool:
        """Return whether a worker with this token may work while `found` is in the output.

        A job that makes its plan itself has no driver that writes the plan's digest: there it is '' to the end.
        """
        return self.value == found.value and found.plan_digest in {self.plan_digest, ""}


@dataclass(frozen=True, slots=True)
class RunFile:
    """The content of a run's file."""

    token: RunToken
    host: str = "unknown"  # of the driver, as its process
    process: int = 0
    is_detached: bool = False  # the job goes on without a driver
    is_waiting: bool = False  # none of its tasks has begun

    def to_bytes(self) -> bytes:
        """Return the content."""
        described = {
            "token": self.token.value,
            "plan_digest": self.token.plan_digest,
            "host": self.host,
            "process": self.process,
            **({"is_detached": True} if self.is_detached else {}),
            **({WAITING: True} if self.is_waiting else {}),
        }
        return json.dumps(described).encode()


def read_run_file(folder: Folder) -> RunFile | None:
    """Return the content of a folder's run file, with an unknown token if it is damaged; None if there is none."""
    try:
        fields = json.loads(folder.read(PATH))
        token = RunToken(fields["token"], fields["plan_digest"])
        is_detached, is_waiting = (fields.get(name) is True for name in ("is_detached", WAITING))
        return RunFile(token, str(fields["host"]), is_detached=is_detached, is_waiting=is_waiting)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return RunFile(RunToken(""))
