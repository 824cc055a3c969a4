"""Decide the split, shard and position of every example before a record is written: pure functions, numpy and Arrow.

| module | decides |
|---|---|
| `rules` | the options that a dataset's later life keeps, and those in a manifest as text |
| `duplicates` | which examples with repeated keys, contents or pictures are rejected |
| `labels` | class names in label order, and the labels of each example |
| `splits` | the split of each example, and which examples must share one |
| `sizing` | the number of shards of a split, with the reasons |
| `assign_shards` | the shard of each example; `measure_balance` measures the result |
| `plan` | all of the above, as one `Plan`; `plan_file` stores it, and `rows` selects rows without copies |
| `checks` | whether the source was read as its owner means it |

Every result is the same on every machine: integer arithmetic and stable sorts only, because numpy's default sort and
floating-point sums may differ between processors. Nothing here reads images or imports Beam.
"""
