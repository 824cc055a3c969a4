"""Images that are given with their bytes, such as the elements of a PCollection, become rows of an inventory.

| module | contents |
|---|---|
| `rows` | an element as the row of a listing: its fields, their types, what is rejected |
| `records` | a serialized tf.train.Example as such a row |
| `stager` | check the images of a bundle, and append those given as bytes to files; what an earlier run has staged |
| `staged_conversion` | the source that planning sees; plan, write and publish by the steps of every conversion |

What is the same for every source is in `inventory`, `planning` and `writing`. Nothing here knows Beam.
"""
