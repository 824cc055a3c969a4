"""Check whether a source was misread: pure functions, numpy and Arrow.

| module | looks at |
|---|---|
| `classes` | names and counts of classes, absent classes; names that show a misread source stop before decoding |
| `files` | files that are not read, and splits without a good image |
| `repeated` | groups and copies in several splits, and copies with different labels |
| `annotations` | boxes and masks that do not fit their images |
| `losses` | what storing loses, and what it should not keep |

`all_checks` calls these in the order of printing. They return values of `finding`.

Not here: images and records that are rejected one by one, and options that contradict each other.
"""
