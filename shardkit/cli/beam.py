"""Load our pipelines, and be sure that they are ours: `pipelines` is a common name in users' own repositories."""

import logging
import os
import sys
from pathlib import Path

import shardkit
from shardkit.errors import CallError


def load_pipelines() -> None:
    """Import `pipelines` without Beam's noise.

    Raises:
        CallError: another package of that name comes first, or Beam is not installed.
    """
    ours = str(Path(shardkit.__file__).parent.parent)
    # `python -m` and PYTHONPATH put the working directory first; a user's own `pipelines` folder may lie there.
    path = sys.path.copy()
    sys.path.insert(0, ours)
    logging.disable(logging.WARNING)  # Beam prints "apitools not found" to everyone who does not use Google's APIs
    try:
        import pipelines.options
    except ModuleNotFoundError as error:
        msg = f"converting and verifying need {error.name}: pip install 'shardkit[convert]'"
        raise CallError(msg) from error
    finally:
        logging.disable(logging.NOTSET)
        sys.path[:] = path
    found = Path(pipelines.__file__ or "").parent.parent
    if found != Path(ours):
        msg = (
            f"the package 'pipelines' of {found} hides shardkit's own; run from another folder or with PYTHONSAFEPATH=1"
        )
        raise CallError(msg)
    os.environ["PYTHONSAFEPATH"] = "1"  # for the processes that runners start
