"""Compare two datasets example by example: what was added, removed, moved, labelled or stored differently.

| module | contents |
|---|---|
| `datasets` | compare two whole datasets, in bounded memory |
| `difference` | the result |
| `collecting` | counts and first keys of each kind |
| `rows` | a part of the examples of a dataset, from its indexes |
| `columns` | differences that the indexes decide |
| `records` | differences that only the records decide |

Checking one dataset against its own manifest belongs in `verification`.
"""

from shardkit.comparison.datasets import diff_datasets
from shardkit.comparison.difference import DatasetDiff

__all__ = ["DatasetDiff", "diff_datasets"]
