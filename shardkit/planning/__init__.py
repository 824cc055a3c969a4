"""Decide the split, shard and position of every example before a record is written: pure functions, numpy and Arrow.

| module | decides |
|---|---|
| `splits` | the split of each example, and which examples must share one |
| `sizing` | the number of shards of a split, with the reasons |
| `assign_shards` | the shard of each example; `balance` measures the result |
| `plan` | all of the above, as one `Plan`; `plan_file` stores it |

Every result is the same on every machine: integer arithmetic and stable sorts only, because numpy's default sort and
floating-point sums may differ between processors. Nothing here reads images or imports Beam.
"""
