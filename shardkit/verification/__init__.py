"""Check a dataset against its manifest, byte for byte, without Beam.

| module | contents |
|---|---|
| `dataset` | a whole dataset, by a checker that runs the shards in parallel |
| `threads` | the checker that runs in this process |
| `shards`, `examples` | one shard, one record |
| `leaks` | groups and images in more than one split |
"""
