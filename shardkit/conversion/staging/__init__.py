"""Images that are given with their bytes, such as the elements of a PCollection, become rows of an inventory.

| module | contents |
|---|---|
| `rows` | an element as the row of a listing: its fields, their types, what is rejected |
| `records` | a serialized tf.train.Example as such a row |
| `staged_part` | what staging writes: folder, columns, names that travel on; what an earlier run has staged |
| `stager` | check and normalise the images of a bundle, and append them to files of many images |
| `staged_conversion` | the source that planning sees; plan, write and publish by the steps of every conversion |

What is the same for every source is in `inventory`, `planning` and `writing`. Nothing here knows Beam.
"""
