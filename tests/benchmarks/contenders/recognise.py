"""Recognise a folder and prove its reading, as every command does first.

python recognise.py SOURCE
"""

import json
import sys
import time

from shardkit.sources.opening import open_source

start = time.process_time()
source = open_source(sys.argv[1])
print(json.dumps({"layout": source.layout, "cpu": time.process_time() - start}))
