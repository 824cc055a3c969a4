"""The conversion: locks, refusals, resuming, one shard, publishing; as plain functions without Beam or TensorFlow.

`conversion` has the order of the steps, `executor` the interface of what runs them in parallel. How a split is chosen
belongs in `planning`, how files are read in `sources`, how pipelines are built in `pipelines`.
"""
