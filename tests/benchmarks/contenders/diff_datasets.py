"""Compare two datasets, and print the number of examples that differ."""

import json
import sys

import shardkit

found = shardkit.diff(*sys.argv[1:3])
print(json.dumps({kind: changes.num_examples for kind, changes in found.kinds.items()}))
