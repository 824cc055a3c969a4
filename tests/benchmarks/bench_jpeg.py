"""What the encoding of a JPEG costs in bytes and decoding, and what `--jpeg` and `--subsampling` change in its pixels.

    python tests/benchmarks/bench_jpeg.py --photos FOLDER

The photographs of FOLDER that are 4:4:4 are encoded as baseline and progressive, with and without chroma subsampling,
by their own quantisation tables. TensorFlow decodes each version several times in one thread, turn about; the least CPU
time of each image counts. Versions that shardkit makes are compared with those that it made them of.
"""

import argparse
import io
import random
import time
from pathlib import Path

import numpy as np
from PIL import Image
from timing import print_table

from shardkit.images.jpeg_header import read_jpeg_header
from shardkit.images.normalising import recode_jpeg

SUBSAMPLINGS = ("4:4:4", "4:2:0")


def encoded(data: bytes, subsampling: str, *, progressive: bool) -> bytes:
    """A photograph with its own tables in another encoding, as a camera or a website would have written it."""
    image = Image.open(io.BytesIO(data))
    tables = [image.quantization[layer[3]] for layer in image.layer[:2]]
    image.draft("YCbCr", image.size)
    image.load()
    image.info = {}
    out = io.BytesIO()
    image.save(out, "JPEG", qtables=tables, subsampling=subsampling, progressive=progressive, optimize=True)
    return out.getvalue()


def versions_of(photos: list[bytes]) -> dict[str, list[bytes]]:
    made = {
        f"{'progressive' if progressive else 'baseline'} {subsampling}": [
            encoded(data, subsampling, progressive=progressive) for data in photos
        ]
        for subsampling in SUBSAMPLINGS
        for progressive in (False, True)
    }
    for subsampling in SUBSAMPLINGS:
        source = f"progressive {subsampling}"
        made[f"{source}, --jpeg baseline"] = [recode_jpeg(data, None) for data in made[source]]
    source = "baseline 4:4:4"
    made[f"{source}, --subsampling 4:2:0"] = [recode_jpeg(data, "4:2:0") for data in made[source]]
    return made


def decoding_seconds(versions: dict[str, list[bytes]], rounds: int) -> dict[str, float]:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    least = {name: [float("inf")] * len(images) for name, images in versions.items()}
    for _ in range(rounds):
        for name in random.sample(list(versions), len(versions)):
            for i, data in enumerate(versions[name]):
                start = time.thread_time()
                tf.io.decode_jpeg(data, channels=3)
                least[name][i] = min(least[name][i], time.thread_time() - start)
    return {name: sum(seconds) for name, seconds in least.items()}


def psnr(first: bytes, second: bytes) -> float:
    one, other = (np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), np.float64) for data in (first, second))
    return float(10 * np.log10(255**2 / max(1e-9, np.mean((one - other) ** 2))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="folder of photographs, searched with its folders")
    parser.add_argument("--images", type=int, default=80)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    files = (path.read_bytes() for path in sorted(given.photos.rglob("*")) if path.suffix.lower() in {".jpg", ".jpeg"})
    photos = [data for data in files if (header := read_jpeg_header(data)) and header.subsampling == "4:4:4"]
    versions = versions_of(photos[: given.images])
    pixels = sum(np.prod(Image.open(io.BytesIO(data)).size) for data in photos[: given.images])
    seconds = decoding_seconds(versions, given.rounds)
    first = "baseline 4:4:4"
    rows = [["", "bytes an image", "of the first", "ms a megapixel", "of the first", "PSNR, median", "least"]]
    for name, images in versions.items():
        size, source = sum(map(len, images)), name.partition(", ")[0]
        close = [psnr(*pair) for pair in zip(versions[source], images, strict=True)] if source != name else []
        shown = [f"{np.median(close):.1f} dB", f"{min(close):.1f} dB"] if close else ["", ""]
        rows.append(
            [
                name,
                f"{size / len(images):,.0f}",
                f"{size / sum(map(len, versions[first])):.2f}",
                f"{seconds[name] / pixels * 1e9:.2f}",
                f"{seconds[name] / seconds[first]:.2f}",
                *shown,
            ]
        )
    print_table(f"{len(versions[first])} photographs of {pixels / 1e6 / len(versions[first]):.2f} megapixels", rows)


if __name__ == "__main__":
    main()
