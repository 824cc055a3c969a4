"""Writes blocks.json, the numbers that hold the ``block`` order for ever.

Run once, from the repository root: ``python tests/order/golden/make_blocks.py``. A change of the file is a change
of what every training run that is resumed will see, and therefore never right; new cases may be appended.
"""

import json
from itertools import groupby
from pathlib import Path

import numpy as np

from shardkit.hashing import MAX_SEED
from shardkit.order.blocks import block_order

# (records of each shard, block_records, window_blocks, lanes, seed, first position, number of positions)
CASES = [
    ([1], 64, 16, 8, 0, 0, 3),
    ([5, 4], 64, 16, 8, 0, 0, 18),  # each shard one short block, some lanes of one record
    ([10, 10], 5, 2, 1, 0, 0, 40),  # one lane, no short block
    ([10, 11, 10], 4, 2, 3, 7, 0, 62),
    ([130, 131, 129], 10, 3, 4, MAX_SEED, 380, 60),  # over the border of an epoch
    ([1281] * 1000 + [167], 64, 16, 8, 0, 0, 40),
    ([1281] * 1000 + [167], 64, 16, 8, 1, 1_281_147, 40),
    ([20_000_001] * 50, 256, 8, 16, 3, 10**12, 40),
    ([7, 6], 2, 2, 2, 9, (1 << 62) - 30, 30),  # epochs above 2**32
]


def main() -> None:
    cases = []
    for counts, block_records, window_blocks, lanes, seed, start, count in CASES:
        starts = np.cumsum([0, *counts])
        given = {"block_records": block_records, "window_blocks": window_blocks, "lanes": lanes, "seed": seed}
        ids = block_order(np.arange(start, start + count), starts=starts, num_examples=int(starts[-1]), **given)
        equal = [[len(list(group)), size] for size, group in groupby(counts)]
        cases.append({"shards": equal, **given, "start": start, "ids": ids.tolist()})
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    (Path(__file__).parent / "blocks.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
