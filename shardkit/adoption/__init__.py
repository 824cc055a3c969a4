"""Adopt TFRecords that others wrote: a manifest and indexes for files that stay as they are.

| module | contents |
|---|---|
| `adopting` | the options, all steps in order, the indexes and the manifest |
| `files` | which files, their splits and layout, the call that converts what cannot be adopted; the dataset's folder |
| `scanning` | one file to the rows of its index |
| `merging` | what all scans found; the keys, features and names of classes that follow from it |

How files are found to be TFRecords, and what their features are, is in `dataset.foreign`, which the source of TFRecords
uses, too. The TFRecords are only read. No Beam here: `parallel.for_each` scans on a runner.
"""
