"""How shardkit reads every folder, as a table: python -m tests.strangers.sweep [WORDS]

With words, only folders whose names have them, and all that was printed.
"""

import collections
import sys
import tempfile
from pathlib import Path

from . import boxes, class_trees, masks, packed, tables  # noqa: F401 - they register folders
from .reading import read
from .tree import FOLDERS


def main():
    words = " ".join(sys.argv[1:])
    outcomes = collections.Counter()
    for folder in FOLDERS:
        if words not in folder.name:
            continue
        with tempfile.TemporaryDirectory() as root:
            try:
                reading = read(folder.make(), Path(root))
            except Exception as error:  # noqa: BLE001 - the sweep goes on
                print(f"CRASH    {folder.name}: {error!r}", flush=True)
                outcomes["crash"] += 1
                if words:
                    raise
                continue
        outcomes[reading.outcome] += 1
        mark = "" if reading.outcome == folder.reading else f"  (should be {folder.reading})"
        print(f"{reading.outcome:8} {folder.name}{mark}", flush=True)
        for command, wrong in reading.wrong.items():
            if wrong:
                print(f"           {command.replace(root, '')[:100]}: {'; '.join(wrong[:2])[:200]}", flush=True)
        if words:
            print(reading.said)
    print(dict(outcomes))


if __name__ == "__main__":
    main()
