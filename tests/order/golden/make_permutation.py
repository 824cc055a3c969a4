"""Writes permutation.json, the numbers that hold the ``full`` order for ever.

Run once, from the repository root: ``python tests/order/golden/make_permutation.py``. A change of the file is a change
of what every training run that is resumed will see, and therefore never right; new cases may be appended.
"""

import json
from pathlib import Path

import numpy as np

from shardkit.hashing import MAX_SEED
from shardkit.order import permutation

# (num_examples, seed, first position, number of positions)
CASES = [
    (1, 0, 0, 3),
    (2, 0, 0, 16),
    (3, 1, 0, 15),
    (6, 7, 0, 24),
    (9, 2, 0, 36),  # on a square of odd sides every second order is made by the swap alone
    (10, 0, 0, 30),
    (10, 1, 0, 30),
    (100, 42, 250, 100),
    (1023, 5, 1000, 60),  # the last size of 24 rounds, over the border of an epoch
    (1024, 5, 1000, 60),  # the first size of 12 rounds
    (5000, MAX_SEED, 4990, 40),
    (1_281_167, 0, 0, 40),
    (1_281_167, 0, 1_281_147, 40),
    (1_281_167, 1, 0, 40),
    (20_000_000, 123456789, 10**12, 40),
    (1 << 40, 3, 0, 20),
    (1 << 40, 3, (1 << 62) - 20, 20),
    (1, 9, (1 << 62) - 3, 3),
    (7, 9, (1 << 62) - 30, 30),  # epochs above 2**32
]


def main() -> None:
    cases = []
    for num_examples, seed, start, count in CASES:
        ids = permutation.permute(np.arange(start, start + count), num_examples=num_examples, seed=seed)
        cases.append({"num_examples": num_examples, "seed": seed, "start": start, "ids": ids.tolist()})
    words = np.moveaxis(permutation.key_words(5, np.array([0, 1, 1 << 40]), 2), -1, 0)
    lines = ",\n".join("    " + json.dumps(case) for case in cases)
    text = f'{{\n  "key_words(5, [0, 1, 2**40], 2)": {json.dumps(words.tolist())},\n  "cases": [\n{lines}\n  ]\n}}\n'
    (Path(__file__).parent / "permutation.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
