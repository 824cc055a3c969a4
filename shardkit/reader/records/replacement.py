"""Choose the example that replaces a damaged one.

If a damaged record were skipped, all later positions would move, and workers that share the order would drift apart.
The replacement is a pure function, so that every worker, every epoch and every resumed run has the same one. It is of
the same class and the same dataset, so that the shares of classes and datasets stay exact.
"""

from shardkit.hashing import hash64

# A prime above any number of examples, so that it has no common divisor with it: steps of this length visit every
# example once before any twice. The neighbours of a damaged record are often damaged too, so steps are long.
STRIDE = (1 << 61) - 1


def replacement(rank: int, attempt: int, seed: int, count: int) -> int:
    """Return the rank of the example that replaces a damaged one.

    Over attempts 1 to count - 1 every other example comes exactly once, in an order that depends on rank and seed: if
    one record is intact, it is found.

    Args:
        rank: Rank of the damaged record among the examples of its class and dataset, in [0, count).
        attempt: From 1 to count - 1; the next one if the chosen example is damaged too.
        seed: Seed of the reader, 0 to 2**63 - 1.
        count: Number of examples of the class and dataset, at least 2.
    """
    others = count - 1
    (start,) = hash64([str(rank)], seed=seed, purpose="replacement")
    return int((rank + 1 + (int(start) + (attempt - 1) * STRIDE) % others) % count)
