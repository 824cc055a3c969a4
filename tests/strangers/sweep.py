"""How shardkit reads every folder, as a table: python -m tests.strangers.sweep [--write | WORDS or MODULE]

With words, only folders whose names have them, and all that was printed. With ``--write`` it replaces outcomes.txt,
which the tests compare with: look at what git shows of it.
"""

import collections
import sys
import tempfile
from pathlib import Path

from click import echo

from . import all_folders  # noqa: F401 - it registers them
from .outcomes import Outcome, write_outcomes
from .reading import read
from .tree import FOLDERS


def main():
    is_writing = sys.argv[1:] == ["--write"]
    words = "" if is_writing else " ".join(sys.argv[1:])
    module = words if any(folder.module.endswith(f".{words}") for folder in FOLDERS) else ""
    words = "" if module else words
    table = {}
    for folder in FOLDERS:
        if words not in folder.name or not folder.module.endswith(module and f".{module}"):
            continue
        table[folder.name] = Outcome("crash", 0)
        with tempfile.TemporaryDirectory() as root:
            try:
                reading = read(folder.make(), Path(root))
            except Exception as error:
                echo(f"CRASH    {folder.name}: {error!r}")
                if words:
                    raise
                continue
        table[folder.name] = Outcome(reading.outcome, reading.number)
        mark = "" if reading.outcome == folder.reading else f"  (should be {folder.reading})"
        echo(f"{reading.outcome:8} {folder.name}{mark}")
        for command, wrong in reading.wrong.items():
            if wrong:
                echo(f"           {command.replace(root, '')[:100]}: {'; '.join(wrong[:2])[:200]}")
        for command, what in reading.losses(folder.make()):
            echo(f"    LOSES  {command.replace(root, '')[:100]}: {what[:200]}")
        if words:
            echo(reading.said)
    echo(dict(collections.Counter(one.outcome for one in table.values())))
    if is_writing:
        write_outcomes(table)


if __name__ == "__main__":
    main()
