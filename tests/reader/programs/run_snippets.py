"""Run snippets of pages one after the other, each in a folder of its own; what became of each as JSON.

run_snippets.py RESULT FOLDER…: every FOLDER has a snippet.py. One process for many: TensorFlow takes seconds to start.
MirroredStrategy() takes all GPUs; here two logical CPU devices stand for them. All snippets get the same strategy:
several in one process number their collective operations alike, and TensorFlow confuses them.
"""

import contextlib
import io
import json
import os
import runpy
import sys
import traceback

import tensorflow as tf

result, *folders = map(os.path.abspath, sys.argv[1:])
devices = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], devices)
mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
tf.distribute.MirroredStrategy = lambda: mirrored
outcomes = {}
namespaces = []  # a server of tf.data service that is deleted before its clients may wait for them for ever
for folder in folders:
    os.chdir(folder)
    printed, error = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            namespaces.append(runpy.run_path("snippet.py", run_name="__main__"))
        except Exception:  # noqa: BLE001 - it is one snippet's result, and the others run on
            error = traceback.format_exc()
    outcomes[os.path.basename(folder)] = {"printed": printed.getvalue(), "error": error}
with open(result, "w", encoding="utf-8") as file:
    json.dump(outcomes, file)
os._exit(0)
