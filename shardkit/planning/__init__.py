"""Who goes where, decided before a record is written: pure functions over columns, numpy only.

| module | decides |
|---|---|
| `splitting` | the split of each example, by hash or stratified by class |
| `sizing` | how many shards a split has, and why |
| `dealing` | the shard of each example, and its place there |

Every result is the same on every machine: integer arithmetic and stable sorts only, because numpy's default sort and
floating-point sums may differ between processors.
"""
