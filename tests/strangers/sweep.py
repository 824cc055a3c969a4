"""How shardkit reads every folder, as a table: python -m tests.strangers.sweep [WORDS or MODULE]

With words, only folders whose names have them, and all that was printed.
"""

import collections
import sys
import tempfile
from pathlib import Path

from click import echo

from . import all_folders  # noqa: F401 - it registers them
from .reading import read
from .tree import FOLDERS


def main():
    words = " ".join(sys.argv[1:])
    module = words if any(folder.module.endswith(f".{words}") for folder in FOLDERS) else ""
    words = "" if module else words
    outcomes = collections.Counter()
    for folder in FOLDERS:
        if words not in folder.name or not folder.module.endswith(module and f".{module}"):
            continue
        with tempfile.TemporaryDirectory() as root:
            try:
                reading = read(folder.make(), Path(root))
            except Exception as error:
                echo(f"CRASH    {folder.name}: {error!r}")
                outcomes["crash"] += 1
                if words:
                    raise
                continue
        outcomes[reading.outcome] += 1
        mark = "" if reading.outcome == folder.reading else f"  (should be {folder.reading})"
        echo(f"{reading.outcome:8} {folder.name}{mark}")
        for command, wrong in reading.wrong.items():
            if wrong:
                echo(f"           {command.replace(root, '')[:100]}: {'; '.join(wrong[:2])[:200]}")
        if words:
            echo(reading.said)
    echo(dict(outcomes))


if __name__ == "__main__":
    main()
