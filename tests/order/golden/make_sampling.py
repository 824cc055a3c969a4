"""Writes sampling.json, the numbers that hold class sampling for ever.

Run once, from the repository root: ``python tests/order/golden/make_sampling.py``. A change of the file is a change
of what every training run that is resumed will see, and therefore never right; new cases may be appended.
"""

import json
from itertools import groupby
from pathlib import Path

import numpy as np

from shardkit.hashing import MAX_SEED
from shardkit.order.sampling import class_weighted, sample

# (examples of each class, weights, seed, first position, number of positions)
CASES = [
    ([3, 1], [1, 1], 0, 0, 12),
    ([5, 2, 9], [0.5, 0.3, 0.2], 1, 0, 40),
    ([4, 4, 4], [1, 1, 1], 0, 1_000, 30),  # one slot of a period is shared
    ([4, 0, 4], [0, 0, 1], 2, 0, 9),
    ([10, 20, 30, 40], [2**0.5, 3**0.5, 5**0.5, 0.001], 3, 990, 40),  # shares that are rounded
    ([2] * 1500, [1] * 1500, 4, 0, 40),  # more classes than slots
    ([2000, 1100], [9, 1], MAX_SEED, 10**12, 40),  # classes of 12 rounds
]


def main() -> None:
    cases = []
    for counts, weights, seed, start, count in CASES:
        labels = np.repeat(np.arange(len(counts)), counts)
        sampling = class_weighted(labels, dict(enumerate(weights)), num_classes=len(counts), seed=seed)
        ids, epochs = sample(np.arange(start, start + count), sampling, seed=seed)
        given = {"classes": runs(counts), "weights": runs(weights), "seed": seed, "start": start}
        cases.append({**given, "ids": ids.tolist(), "epochs": epochs.tolist()})
    parts = [f'  "{name}": [\n{lines(rows)}\n  ]' for name, rows in (("cases", cases),)]
    (Path(__file__).parent / "sampling.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def runs(values: list[float]) -> list[list[float]]:
    return [[len(list(group)), value] for value, group in groupby(values)]


def lines(rows: list[dict[str, object]]) -> str:
    return ",\n".join("    " + json.dumps(row) for row in rows)


if __name__ == "__main__":
    main()
