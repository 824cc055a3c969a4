"""The conversion: its steps as plain functions, without Beam or TensorFlow.

| package | step |
|---|---|
| `inventory` | read and decode every file of a source: one sorted table of rows |
| `planning` | decide the split, shard and position of every example before a record is written |
| `writing` | write each shard, resume, publish; `writing.conversion` has the order of all steps |
| `staging` | the same for images that are given with their bytes, such as the rows of a PCollection |

A step imports from the steps above it in this table only. `arguments` and `option_values` read what a user gives to a
function or a transform, for all of them alike. How a source is listed belongs in `sources`, how steps run in
parallel in `parallel` and `pipelines`.
"""
