"""How fast records come from a store where every request takes 50 ms, compared with the rate of the link to it.

    python tests/benchmarks/bench_remote.py --dataset FOLDER [--link BYTES_A_SECOND]

The store is tests/storage/gcs/emulator.py: TensorFlow's own gs:// client reads the dataset FOLDER from it. Everything
that comes counts from when the first epoch is over, since what was read ahead of it came before: `rate` is bytes of
images a second over the link's bytes a second, `read` is what the store sent over what it would have to send for them.

TensorFlow's client reads 64 MiB ahead wherever it seeks, unless GCS_READAHEAD_BUFFER_SIZE_BYTES says otherwise, and
that before Python starts: 0 where requests are as long as they should be, a little above a record for `full`.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from timing import CONTENDERS, REPOSITORY, print_table

from shardkit import read_manifest

sys.path.insert(0, str(REPOSITORY))
from tests.storage.gcs.emulator import GcsEmulator

SECONDS_A_REQUEST = 0.05
EPOCHS = 4
TARGET = 0.9
WAYS = {
    "block": ("block", "0", EPOCHS),
    "block, reading ahead 64 MiB": ("block", None, 2),
    "full, reading ahead 128 KiB": ("full", str(128 << 10), 2),
    "tf.data, shards in file order": ("tfdata", None, EPOCHS),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True)
    parser.add_argument("--link", type=float, default=50e6, help="bytes a second")
    given = parser.parse_args()
    folder = given.dataset.resolve()
    train = read_manifest(str(given.dataset)).splits["train"]
    total = sum(shard.num_bytes for shard in train.shards)
    rows = [["", "first batch s", "MB/s", "rate", "read", "requests", "MB a request"]]
    is_kept = False
    for name, (order, ahead, epochs) in WAYS.items():
        print(f"{name} …", file=sys.stderr, flush=True)
        store = GcsEmulator(folder.parent.parent, latency_seconds=SECONDS_A_REQUEST, bytes_per_second=given.link)
        with store as emulator:
            url = f"gs://{folder.parent.name}/{folder.name}"
            words = [url, order, "--warm-up-bytes", str(total), "--bytes", str(epochs * total)]
            found = read(emulator, words, ahead)
        rate = found["bytes"] / found["seconds"] / given.link
        is_kept |= order == "block" and ahead == "0" and rate >= TARGET
        rows.append(
            [
                name,
                f"{found['first']:.1f}",
                f"{found['bytes'] / found['seconds'] / 1e6:.1f}",
                f"{rate:.2f}",
                f"{found['read_bytes'] / found['bytes']:.2f}",
                f"{found['reads']:,.0f}",
                f"{found['read_bytes'] / found['reads'] / 1e6:.2f}",
            ]
        )
    link = f"link of {given.link / 1e6:.0f} MB/s, {SECONDS_A_REQUEST * 1000:.0f} ms a request"
    print_table(f"{total / 1e6:,.0f} MB behind a {link}; target of block: rate {TARGET}", rows)
    sys.exit(not is_kept)


def read(emulator: GcsEmulator, words: list[str], ahead: str | None) -> dict[str, float]:
    """Run the contender; what came between the end of its warm-up and its end."""
    environment = os.environ | emulator.environment() | {"PYTHONPATH": str(REPOSITORY), "TF_CPP_MIN_LOG_LEVEL": "3"}
    if ahead is not None:
        environment["GCS_READAHEAD_BUFFER_SIZE_BYTES"] = ahead
    command = [sys.executable, str(CONTENDERS / "remote_reader.py"), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        # Each line is written when it is true, and counted at once.
        (warm, counts), (end, counts_then) = ((json.loads(line), emulator.counts()) for line in process.stdout)
    sent = {name: counts_then[name] - counts[name] for name in ("reads", "read_bytes")}
    return {"bytes": end["bytes"] - warm["bytes"], "seconds": end["at"] - warm["at"], "first": warm["first"], **sent}


if __name__ == "__main__":
    main()
