"""Training crops decoded at reduced scale, compared with the same ones decoded exactly: PSNR by ratio.

python scaled_pixels.py DATASET [--method bilinear|antialias] [--batches N]

As JSON: `share_R` of the images decoded at ratio R; `mean_R` and `low_R`, PSNR's mean and 5th percentile in dB (R is
"all" for all that are scaled); `method_mean` and `method_low`, those of bilinear against antialias, both exact.
"""

import argparse
import json
from typing import Any

import numpy as np
from measuring import BATCH_SIZE

from shardkit import reader
from shardkit.dataset.index.file import key_hashes
from shardkit.fetch import places as draws
from shardkit.fetch.windows import UNIFORMS, random_windows
from shardkit.reader.images.decoding import RATIOS, ratio_index

SIZE, SEED = (224, 224), 0
HEIGHT, WIDTH = 1500, 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="of images of 1500 x 2000 pixels")
    parser.add_argument("--method", default="bilinear")
    parser.add_argument("--batches", type=int, default=10)
    given = parser.parse_args()
    exact_fn, scaled_fn, other_fn = (
        reader.make_dataset_fn(
            given.dataset,
            "train",
            global_batch_size=BATCH_SIZE,
            images=reader.Images(SIZE, augment="imagenet", resize_method=method, scaled_decoding=scaled),
            seed=SEED,
        )
        for method, scaled in [
            (given.method, False),
            (given.method, True),
            ("antialias" if given.method == "bilinear" else "bilinear", False),
        ]
    )
    found: list[Any] = []
    batches = zip(range(given.batches), exact_fn(), scaled_fn(), other_fn(), strict=False)
    for step, (exact, _), (scaled, _), (other, _) in batches:
        chosen = ratios(exact_fn.batch_keys(step), np.full(BATCH_SIZE, step // exact_fn.steps_per_epoch))
        found.append([chosen, psnr(scaled, exact), psnr(other, exact)])
    chosen, lost, method = np.concatenate(found, axis=1)
    figures = {"method_mean": method.mean(), "method_low": np.percentile(method, 5)}
    for name, which in [("all", chosen > 1), *((ratio, chosen == ratio) for ratio in RATIOS)]:
        figures[f"share_{name}"] = which.mean()
        if name != 1 and which.any():
            figures |= {f"mean_{name}": lost[which].mean(), f"low_{name}": np.percentile(lost[which], 5)}
    print(json.dumps({name: float(value) for name, value in figures.items()}))


def ratios(keys: list[str], epochs: Any) -> Any:
    """The ratio of each example's crop."""
    drawn = draws.uniforms(key_hashes(keys), np.asarray(epochs), SEED, UNIFORMS + 1)
    sides = (np.full(len(keys), side, np.int32) for side in (HEIGHT, WIDTH))
    found = random_windows(drawn[:-1], *sides, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3))
    return np.array([RATIOS[int(ratio_index(window, SIZE))] for window in found])


def psnr(found: Any, expected: Any) -> Any:
    """Of each image, dB; at most 58.9, that of values rounded to whole numbers, for crops of an even background."""
    error = np.mean(np.square(np.subtract(found, expected)), axis=(1, 2, 3))
    return 10 * np.log10(255**2 / np.maximum(error, 1 / 12))


if __name__ == "__main__":
    main()
