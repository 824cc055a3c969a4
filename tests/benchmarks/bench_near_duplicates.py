"""How well copies are found by perceptual hashes, how many different images are taken for copies, and how fast.

    python tests/benchmarks/bench_near_duplicates.py --photos FOLDER [--trials 2] [--variants 30000]
        [--hashes 1000000]

Recall: each photograph is changed in each way, with amounts drawn at random, and counts if it is found as a near pair
of the original, and the share whose pixels are the same for `--dedupe drop`. False pairs: different photographs are
made of two of them each, by cutting out, mirroring, blending and joining; all their near pairs are counted as false,
although some are made of the same two parts. Speed and memory: `similar_sets` of many hashes, whose bytes are drawn
from those of the photographs, in a process of its own.
"""

import argparse
import io
import json
import random
import resource
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance
from timing import Contender, print_table, run

from shardkit import images
from shardkit.images.similar.near_pairs import RADIUS, near_pairs
from shardkit.images.similar.similar_sets import similar_sets
from shardkit.images.thumbnails import are_copies

SIDE = 500
QUALITIES, SCALES, BRIGHTNESS, MOST_CROPPED = (50, 95), (0.5, 2.0), (0.85, 1.15), 0.05
SMALL = (128, 96)
SEED = 1


def jpeg(image: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


def hash_of(data: bytes) -> np.ndarray | None:
    found = images.check_fully(data)[2]
    return None if found is None else np.frombuffer(found, "<u8")


def thumbnail_of(data: bytes) -> bytes:
    return images.thumbnail(data, images.inspect(data))


def cropped(image: Image.Image, across: float, down: float, drawing: random.Random) -> Image.Image:
    """Without shares of the width and the height, which are cut off anywhere at the two sides."""
    width, height = round(image.width * (1 - across)), round(image.height * (1 - down))
    left, top = drawing.randint(0, image.width - width), drawing.randint(0, image.height - height)
    return image.crop((left, top, left + width, top + height))


def scaled(image: Image.Image, factor: float) -> Image.Image:
    return image.resize((round(image.width * factor), round(image.height * factor)), Image.Resampling.LANCZOS)


def changed(name: str, image: Image.Image, drawing: random.Random) -> bytes:
    if name == "JPEG quality 50 to 95":
        return jpeg(image, drawing.randint(*QUALITIES))
    if name == "size 50 % to 200 %":
        return jpeg(scaled(image, drawing.uniform(*SCALES)), 90)
    if name == "brightness 85 % to 115 %":
        return jpeg(ImageEnhance.Brightness(image).enhance(drawing.uniform(*BRIGHTNESS)), 90)
    if name == "up to 5 % of both sides cut off":
        share = drawing.uniform(0, MOST_CROPPED)
        return jpeg(cropped(image, share, share, drawing), 90)
    if name == "5 % of both sides cut off":
        return jpeg(cropped(image, MOST_CROPPED, MOST_CROPPED, drawing), 90)
    if name == "PNG":
        out = io.BytesIO()
        image.save(out, "PNG")
        return out.getvalue()
    image = ImageEnhance.Brightness(image).enhance(drawing.uniform(*BRIGHTNESS))
    image = cropped(image, drawing.uniform(0, MOST_CROPPED), drawing.uniform(0, MOST_CROPPED), drawing)
    return jpeg(scaled(image, drawing.uniform(*SCALES)), drawing.randint(*QUALITIES))


CHANGES = (
    *("JPEG quality 50 to 95", "size 50 % to 200 %", "brightness 85 % to 115 %", "up to 5 % of both sides cut off"),
    *("5 % of both sides cut off", "PNG", "all of these"),
)


def recall(photos: list[Image.Image], trials: int) -> None:
    drawing = random.Random(SEED)  # noqa: S311 - no secret
    rows = [["change", "recall", f"within {RADIUS} bits", "same pixels", "median bits", "95 % bits"]]
    for name in CHANGES:
        bits, found, same = [], 0, 0
        for image in photos:
            first = jpeg(image, 95)
            original = hash_of(first)
            for _ in range(trials):
                second = changed(name, image, drawing)
                copy = hash_of(second)
                if original is None or copy is None:
                    continue
                bits.append(int(np.bitwise_count(original ^ copy).sum()))
                pairs = near_pairs(np.stack((original, copy))) if bits[-1] else [0]
                found += len(pairs)
                same += are_copies(thumbnail_of(first), thumbnail_of(second))
        exact = np.mean(np.array(bits) <= RADIUS)
        rows.append(
            [
                name,
                f"{found / len(bits):.3f}",
                f"{exact:.3f}",
                f"{same / len(bits):.3f}",
                f"{np.median(bits):.0f}",
                f"{np.percentile(bits, 95):.0f}",
            ]
        )
    print_table(f"copies of {len(photos)} photographs, {trials} of each", rows)


def composed(photos: list[Image.Image], drawing: random.Random) -> Image.Image:
    """A photograph of parts of two others."""
    one, other = (part(drawing.choice(photos), drawing) for _ in range(2))
    kind, share = drawing.randrange(3), drawing.uniform(0.3, 0.7)
    if kind == 0:
        return Image.blend(one, other, share)
    across, down = (round(SMALL[0] * share), 0) if kind == 1 else (0, round(SMALL[1] * share))
    one.paste(other.crop((across, down, *SMALL)), (across, down))
    return one


def part(photo: Image.Image, drawing: random.Random) -> Image.Image:
    width, height = (round(side * drawing.uniform(0.35, 0.8)) for side in photo.size)
    left, top = drawing.randint(0, photo.width - width), drawing.randint(0, photo.height - height)
    cut = photo.crop((left, top, left + width, top + height)).resize(SMALL, Image.Resampling.BOX)
    return cut.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if drawing.random() < 0.5 else cut


def false_pairs(photos: list[Image.Image], num_variants: int) -> np.ndarray:
    drawing = random.Random(SEED)  # noqa: S311 - no secret
    hashes = [images.perceptual_hash.perceptual_hash(composed(photos, drawing), 1) for _ in range(num_variants)]
    known = np.frombuffer(b"".join(one for one in hashes if one is not None), "<u8").reshape(-1, 2)
    distinct = np.unique(known, axis=0)
    pairs = near_pairs(distinct)
    num = (0 if pairs is None else len(pairs)) + len(known) - len(distinct)
    of_all = num / (len(known) * (len(known) - 1) / 2)
    print(f"\n{len(known):,} different photographs: {num:,} near pairs, {of_all:.1e} of all pairs")
    return known


def search(hashes_file: str, count: int) -> None:
    """Search many hashes in this process, and print what it took as JSON."""
    known = np.load(hashes_file).view(np.uint8)
    rng = np.random.default_rng(SEED)
    made = np.empty((count, known.shape[1]), np.uint8)
    of_four = rng.integers(0, len(known), (4, count), np.int32)
    for at in range(known.shape[1]):
        made[:, at] = known[of_four[rng.integers(0, 4, count), np.arange(count)], at]
    del of_four
    start = time.monotonic()
    found = similar_sets(made.view(np.uint64))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps({"search_seconds": time.monotonic() - start, "sets": int(found.codes.max()) + 1, "peak_kib": peak})
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--variants", type=int, default=30_000)
    parser.add_argument("--hashes", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--work", type=Path, default=Path("/tmp"))  # noqa: S108 - a default for one person
    parser.add_argument("--search", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.search:
        search(given.search[0], int(given.search[1]))
        return
    paths = sorted(path for path in given.photos.rglob("*") if path.suffix.lower() in {".jpg", ".jpeg", ".png"})
    photos = [Image.open(path).convert("RGB") for path in paths]
    for photo in photos:
        photo.thumbnail((SIDE, SIDE))
    recall(photos, given.trials)
    known = false_pairs(photos, given.variants)
    file = given.work / "near_hashes.npy"
    np.save(file, known)
    rows = [["hashes", "seconds", "CPU seconds", "MiB", "sets"]]
    for count in given.hashes:
        took = run(Contender("search", [sys.executable, __file__, "--search", str(file), str(count)]))
        figures = took.figures
        rows.append(
            [
                f"{count:,}",
                f"{figures['search_seconds']:.0f}",
                f"{took.cpu_seconds:.0f}",
                f"{took.peak_mib:,.0f}",
                f"{figures['sets']:,.0f}",
            ]
        )
    print_table("search, each in a process", rows)


if __name__ == "__main__":
    main()
