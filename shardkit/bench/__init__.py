"""Measure how fast this host feeds a trainer, and what would make it faster.

| module | contents |
|---|---|
| `settings` | what is measured, as one value |
| `measurements` | slices of a running measurement and their medians |
| `workers` | processes that run one stage each, a slice at a time |
| `stages` | what a worker runs, as a value that travels as JSON |
| `page_cache` | read files into the page cache, drop them, and see what is in it |
| `dataset_part` | the first shards of a split |
| `sample` | a small copy of the dataset, converted again with other options |
| `trials` | the options that are tried |
| `advice` | from measurements to gains, what binds, and numbers of hosts |
| `running` | the whole benchmark |

The workers need TensorFlow, so what they run is in `shardkit.reader.bench`. This package imports neither TensorFlow nor
Beam.
"""
