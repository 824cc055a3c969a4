"""What `scaled_decoding` gains in speed, and what it costs in pixels and in a small network's accuracy.

    python tests/benchmarks/bench_scaled_decoding.py --photos FOLDER

FOLDER has class folders of photographs, of usual size (500 x 375). Large images are made of them: 4 x 4 photographs of
one class folder, cut to 500 x 375 each and put together to 2000 x 1500, so that their detail is that of a camera,
which enlarged photographs have not. The network learns to tell the class folders apart, from crops of 64 x 64 of the
same images at half their size. It is judged by images that are put together otherwise, of the same photographs: this
is no test of how well it generalises, but of whether it sees what it has to see.
"""

import argparse
import random
import statistics
import sys
from pathlib import Path

from timing import Contender, Run, figure, median, print_table, python, ratio, run, shardkit, turn_about, work_folder

TILES, TILE_SIZE = (4, 4), (500, 375)  # across and down; width and height
QUALITY = 90
SHARDS = 4
SPLITS = "train=0.75,validation=0.25"
RATIOS = ("1", "2", "4", "8", "all")


def put_together(photos: Path, target: Path, for_each_class: int, *, halved: bool) -> Path:
    """Class folders of large JPEGs, each of photographs drawn out of one class folder of `photos`."""
    from PIL import Image, ImageOps

    if target.exists():
        return target
    across, down = TILES
    width, height = TILE_SIZE
    for folder in sorted(path for path in photos.iterdir() if path.is_dir()):
        originals = sorted(path for path in folder.iterdir() if path.is_file())
        tiles = [ImageOps.fit(Image.open(path).convert("RGB"), TILE_SIZE) for path in originals]
        (target / folder.name).mkdir(parents=True)
        drawing = random.Random(folder.name)  # noqa: S311 - no secret
        for i in range(for_each_class):
            whole = Image.new("RGB", (across * width, down * height))
            for place in range(across * down):
                whole.paste(drawing.choice(tiles), (place % across * width, place // across * height))
            made = whole.reduce(2) if halved else whole
            made.save(target / folder.name / f"{i:03d}.jpg", quality=QUALITY)
    return target


def converted(images: Path, dataset: Path, *options: object) -> Path:
    if not (dataset / "manifest.json").exists():
        command = shardkit("convert", images, dataset, "--shards", SHARDS, "--quiet", "--check", "header", *options)
        run(Contender("preparing shards", command))
    return dataset


def compare_speed(dataset: Path, rounds: int, batches: int) -> None:
    length = ("--warm-up", 5, "--batches", batches)
    exact = Contender("exact", python("shardkit_reader.py", dataset, *length))
    scaled = Contender("scaled", python("shardkit_reader.py", dataset, "--scaled-decoding", *length))
    runs = turn_about([exact, scaled], rounds)
    rows = [["", "images/s", "CPU us an image", "speed ratio"]]
    for name, mine in runs.items():
        speed = figure("per_second")
        values = [median(mine, speed), median(mine, figure("cpu_us"))]
        rows.append([name, *(f"{value:,.0f}" for value in values), f"{ratio(mine, runs['exact'], speed):.2f}"])
    print_table(f"random crops of 2000 x 1500 to 224 x 224; medians of {rounds}", rows)


def compare_pixels(dataset: Path) -> None:
    for method in ("bilinear", "antialias"):
        made = run(Contender(f"PSNR, {method}", python("scaled_pixels.py", dataset, "--method", method))).figures
        rows = [["decoded at 1 /", "share of images", "PSNR dB, mean", "5th percentile"]]
        for name in RATIOS:
            values = [f"{made[key]:.1f}" if (key := f"{kind}_{name}") in made else "" for kind in ("mean", "low")]
            rows.append([name if name != "all" else "all of 2, 4, 8", f"{made[f'share_{name}']:.1%}", *values])
        values = [f"{made[f'method_{kind}']:.1f}" for kind in ("mean", "low")]
        rows.append(["bilinear against antialias, both exact", "", *values])
        print_table(f"scaled against exact decoding, at 224 x 224, method={method!r}", rows)


def compare_accuracy(dataset: Path, seeds: int, method: str) -> None:
    runs: dict[str, list[Run]] = {"exact": [], "scaled": []}
    for seed in range(seeds):
        for name, mine in runs.items():
            words: list[object] = [dataset, "--seed", seed, "--method", method]
            words += ["--scaled-decoding"] if name == "scaled" else []
            mine.append(run(Contender(name, python("scaled_training.py", *words))))
            print(f"seed {seed}, trained {name}: {mine[-1].figures}", file=sys.stderr, flush=True)
    rows = [["trained", "accuracy on exact crops", "least-most", "on scaled crops", "least-most", "CPU s"]]
    for name, mine in runs.items():
        cells = [name]
        for judged in ("exact", "scaled"):
            values = [one.figures[judged] for one in mine]
            cells += [f"{statistics.mean(values):.1%} +- {statistics.stdev(values):.1%}"]
            cells += [f"{min(values):.1%}-{max(values):.1%}"]
        rows.append([*cells, f"{median(mine, lambda one: one.cpu_seconds):.0f}"])
    print_table(f"a small network, method={method!r}; mean and standard deviation of {seeds} seeds", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="class folders of JPEGs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=20, help="timed batches of 64")
    parser.add_argument("--seeds", type=int, default=3, help="networks trained each way, at least 2")
    parser.add_argument("--method", default="bilinear", choices=["bilinear", "antialias"], help="the network's")
    parser.add_argument("--work", type=Path, help="keep datasets there for the next call; default: a temporary folder")
    parser.add_argument("--only", choices=["speed", "pixels", "accuracy"], help="one of the tables")
    given = parser.parse_args()
    if given.seeds < 2:
        parser.error("--seeds must be at least 2")
    with work_folder(given.work) as work:
        if given.only in {None, "speed", "pixels"}:
            images = put_together(given.photos, work / "large", 16, halved=False)
            dataset = converted(images, work / "large-dataset")
            if given.only != "pixels":
                compare_speed(dataset, given.rounds, given.batches)
            if given.only != "speed":
                compare_pixels(dataset)
        if given.only in {None, "accuracy"}:
            images = put_together(given.photos, work / "halved", 80, halved=True)
            splits = ("--splits", SPLITS, "--split-by", "stratified")
            compare_accuracy(converted(images, work / "halved-dataset", *splits), given.seeds, given.method)


if __name__ == "__main__":
    main()
