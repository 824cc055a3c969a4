"""Check whether a source was misread: pure functions, numpy and Arrow.

| module | looks at |
|---|---|
| `finding` | nothing: a `Finding` is what the other modules return |
| `readings` | class names that show a misread source; these stop the conversion before images are decoded |
| `classes` | names and counts of classes, and classes that are absent from a split |
| `files` | files that are not read, and splits without a good image |
| `collecting` | all of these, in the order of printing |
| `repeated` | groups and exact duplicates in several splits, and duplicates with different labels |

Not here: images and records that are rejected one by one, and options that contradict each other.
"""
