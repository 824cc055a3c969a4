"""The conversion: refusals, resuming, one shard, publishing; as plain functions without Beam or TensorFlow.

`conversion` has the order of the steps, `shard` the writing of one shard, `output` the state of a conversion in its
output folder, and `appending` what adds a generation to a dataset. How a split is chosen belongs in `planning`, how
files are read in `inventory.source_files`, how steps run in parallel in `parallel`.
"""
