"""Check whether a source was misread: pure functions, numpy and Arrow.

| module | looks at |
|---|---|
| `misread_source` | class names that show a misread source; these stop the conversion before images are decoded |
| `classes` | names and counts of classes, and classes that are absent from a split |
| `files` | files that are not read, and splits without a good image |
| `repeated` | groups and copies in several splits, and copies with different labels |
| `annotations` | boxes and masks that do not fit their images |
| `losses`, `positions` | what storing loses, and what it should not keep |

`all_checks` calls these in the order of printing. They return values of `finding`.

Not here: images and records that are rejected one by one, and options that contradict each other.
"""
