"""The indexes of a dataset's shards.

| module | contents |
|---|---|
| `file` | the index of one shard: columns, summary, writing and reading |
| `checks` | what the columns of an index must fulfil when it is read |
| `shards` | the indexes of many shards, compared with the manifest |
| `perceptual_hashes` | the column of perceptual hashes, as numbers |
| `groups` | the groups in an index, and the patterns that find them in keys |
"""
