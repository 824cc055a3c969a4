"""Adopt TFRecords that others wrote: a manifest and indexes for files that stay as they are.

| module | contents |
|---|---|
| `files` | which files, and their splits |
| `records` | one record: what the reader needs of it, and its row of the index |
| `scanning` | one file to the rows of its index: framing, CRCs, features, headers of images |
| `scan_files` | what a worker leaves of each file in the work folder |
| `features` | the dataset's features, from what all records hold |
| `class_names` | class names from a file, TFDS's metadata, the records or numbers |
| `keys` | keys from a feature, else from file and record number |
| `options` | what the user says, and what the manifest keeps of it |
| `dataset_folder` | the folder that an adoption is written into; datasets that the files belong to |
| `merging` | what the scans of all files found |
| `publishing` | indexes and the manifest |
| `repeating` | a second adoption of the same files |
| `converting_instead` | the call that converts records which cannot be adopted |
| `messages` | the lines that say what was found |
| `adopting` | all of it, in order |

How files are found to be TFRecords, and what their features are, is in `dataset.foreign`, which the source of TFRecords
uses, too. The TFRecords are only read. No Beam here: `parallel.for_each` scans on a runner.
"""
