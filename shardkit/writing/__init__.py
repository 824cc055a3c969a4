"""The conversion: refusals, resuming, one shard, publishing; as plain functions without Beam or TensorFlow.

`conversion` has the order of the steps, `executor` the interface of what runs them in parallel, and `threads` what runs
them in this process; `output` the state of a conversion in its output folder, `worker_checks` what workers on other
hosts must share with the driver. How a split is chosen belongs in `planning`, how files are read in `sources`, how
pipelines are built in `pipelines`.
"""
