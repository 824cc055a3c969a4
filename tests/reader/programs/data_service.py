"""A process of a tf.data service, which knows nothing of shardkit; says `ready`, and runs until it is killed.

data_service.py dispatcher PORT [WORK_FOLDER], fault-tolerant with a folder
data_service.py worker ADDRESS PORT
"""

import sys

import tensorflow as tf

kind, place, *more = sys.argv[1:]
service = tf.data.experimental.service
if kind == "dispatcher":
    kept = {"work_dir": more[0], "fault_tolerant_mode": True} if more else {}
    server = service.DispatchServer(service.DispatcherConfig(port=int(place), **kept))
else:
    own = {"port": int(more[0]), "worker_address": f"127.0.0.1:{more[0]}"}
    server = service.WorkerServer(service.WorkerConfig(place, heartbeat_interval_ms=200, **own))
sys.stdout.write("ready\n")
sys.stdout.flush()
server.join()
