"""How well each training order shuffles: block order compared with the full permutation and with a shuffle buffer.

    python tests/benchmarks/bench_shuffle_quality.py
    python tests/benchmarks/bench_shuffle_quality.py --examples 1281167 --classes 1000 --block-records 64 256

On two data sets of equal classes: one whose files lie class by class, the worst that can be adopted, and one written in
the order of hashes, as `shardkit convert` writes. "buffer" is a shuffle buffer over the records in file order,
"interleaved buffer" the same behind the usual input of TensorFlow: shards permuted, sixteen of them read in turn.

    neighbours    mean distance in the file of consecutive examples; 1 for chance
    run           longest run of one class
    class counts  variance of the class counts of batches; 1 for chance, more where classes come in clumps
    classes       distinct classes in a batch, on average
    mates         how much likelier than by chance two examples that lie within 32 of one another fall into one batch
    again         how much likelier than by chance two examples of a batch meet again in a batch of the next epoch
    held          records in memory, over all workers
"""

import argparse
from collections.abc import Callable
from itertools import groupby

import numpy as np
import numpy.typing as npt
from timing import print_table

from shardkit.order.blocks import BLOCK_RECORDS, LANES, WINDOW_BLOCKS, block_order
from shardkit.order.permutation import permute

Ids = npt.NDArray[np.int64]
NEAR = 32
INTERLEAVED = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=320_000)
    parser.add_argument("--classes", type=int, default=250)
    parser.add_argument("--shard-records", type=int, default=1281)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--buffer", type=int, default=10_000)
    parser.add_argument("--block-records", type=int, nargs="+", default=[BLOCK_RECORDS, 4 * BLOCK_RECORDS])
    parser.add_argument("--window-blocks", type=int, nargs="+", default=[WINDOW_BLOCKS, 4])
    parser.add_argument("--lanes", type=int, default=LANES)
    given = parser.parse_args()
    size, lanes = given.examples, given.lanes
    starts = np.append(np.arange(0, size, given.shard_records), size)

    def full(epoch: int) -> Ids:
        return permute(np.arange(epoch * size, (epoch + 1) * size), num_examples=size, seed=0)

    def buffer(epoch: int) -> Ids:
        return buffered(np.arange(size), given.buffer, epoch)

    def interleaved(epoch: int) -> Ids:
        return buffered(interleave(starts, epoch), given.buffer, epoch)

    orders: dict[str, tuple[Callable[[int], Ids], int]] = {"full": (full, 0)}
    for records in given.block_records:
        for window in given.window_blocks:

            def blocks(epoch: int, records: int = records, window: int = window) -> Ids:
                positions = np.arange(epoch * size, (epoch + 1) * size)
                numbers = {"block_records": records, "window_blocks": window, "lanes": lanes}
                return block_order(positions, starts=starts, num_examples=size, seed=0, **numbers)

            orders[f"block, {lanes} x {window} of {records}"] = (blocks, lanes * window * records)
    orders[f"buffer of {given.buffer:,}"] = (buffer, given.buffer)
    orders["interleaved buffer"] = (interleaved, given.buffer)

    by_class = np.arange(size) * given.classes // size
    by_hash = np.random.default_rng(0).permutation(by_class)
    epochs = {name: (order(0), order(1)) for name, (order, _) in orders.items()}
    for title, labels in (("files in order of class", by_class), ("files in order of hashes", by_hash)):
        rows = [["", "neighbours", "run", "class counts", "classes", "mates", "again", "held"]]
        for name, (first, second) in epochs.items():
            figures = measure(first, second, labels, given.batch)
            rows.append([name, *figures, f"{orders[name][1]:,}"])
        print_table(f"{title}; {size:,} examples, {given.classes} classes, batches of {given.batch}", rows)


def measure(first: Ids, second: Ids, labels: Ids, batch: int) -> list[str]:
    """The figures of one order, from two epochs of it."""
    size, num_classes = len(first), int(labels.max()) + 1
    whole = size // batch * batch
    batches = first[:whole].reshape(-1, batch)
    cells = np.arange(len(batches))[:, None] * num_classes + labels[batches]
    counts = np.bincount(cells.ravel(), minlength=len(batches) * num_classes)
    share = 1 / num_classes
    # Drawn without replacement: hence the last factor.
    by_chance = batch * share * (1 - share) * (size - batch) / (size - 1)
    longest = max(len(list(run)) for _, run in groupby(labels[first].tolist()))
    near = np.sort(batches, axis=1)
    mates = sum(int((near[:, d:] - near[:, :-d] <= NEAR).sum()) for d in range(1, NEAR + 1))
    return [
        f"{np.abs(np.diff(first)).mean() / (size / 3):.3f}",
        str(longest),
        f"{counts.reshape(-1, num_classes).var(axis=0).mean() / by_chance:.2f}",
        f"{(counts.reshape(-1, num_classes) > 0).sum(axis=1).mean():.1f}",
        f"{mates / (len(batches) * batch * (batch - 1) * NEAR / size):.2f}",
        f"{meetings(batches, second, batch):.2f}",
    ]


def meetings(batches: Ids, second: Ids, batch: int) -> float:
    """Pairs of a batch that meet again in the next epoch, over those that would by chance."""
    place = np.empty(len(second), np.int64)
    place[second] = np.arange(len(second)) // batch
    again = np.sort(place[batches], axis=1)
    # Equal neighbours at every distance count each pair once; runs are short, so few distances are needed.
    met, distance = 0, 1
    while distance < batch and (equal := int((again[:, distance:] == again[:, :-distance]).sum())):
        met, distance = met + equal, distance + 1
    return met / (len(batches) * batch * (batch - 1) / 2 * (batch - 1) / (len(second) - 1))


def buffered(source: Ids, capacity: int, seed: int) -> Ids:
    """What a shuffle buffer makes of a source: it is filled, then gives a random one for each that comes in."""
    rng = np.random.default_rng(seed)
    held, made = source[:capacity].tolist(), []
    drawn = rng.integers(0, len(held), max(0, len(source) - capacity)).tolist()
    for slot, new in zip(drawn, source[capacity:].tolist(), strict=True):
        made.append(held[slot])
        held[slot] = new
    return np.array([*made, *rng.permutation(held).tolist()])


def interleave(starts: Ids, seed: int) -> Ids:
    """Records of sixteen shards in turn, the shards in random order; one that ends makes room for the next."""
    order = np.random.default_rng(seed).permutation(len(starts) - 1).tolist()
    waiting = [iter(range(starts[s], starts[s + 1])) for s in reversed(order)]
    reading = [waiting.pop() for _ in range(min(INTERLEAVED, len(waiting)))]
    made: list[int] = []
    while reading:
        for slot in range(len(reading) - 1, -1, -1):
            record = next(reading[slot], None)
            if record is not None:
                made.append(record)
            elif waiting:
                reading[slot] = waiting.pop()
            else:
                del reading[slot]
    return np.array(made)


if __name__ == "__main__":
    main()
