"""Images that are given with their bytes, such as the elements of a PCollection, become rows of an inventory.

| module | contents |
|---|---|
| `rows` | an element as the row of a listing: its fields, their types, what is rejected |
| `stager` | check and normalise the images of a bundle, and append them to files of many images |
| `staged_before` | images that an earlier run staged, so that they are not decoded again |
| `staged_source` | the source that planning and writing see; equal rows of one key |

What is the same for every source is in `inventory`, `planning` and `writing`. Nothing here knows Beam.
"""
