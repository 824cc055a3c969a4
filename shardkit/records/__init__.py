"""Examples of a dataset without TensorFlow: read singly, drawn, and written back to folders.

| module | contents |
|---|---|
| `sequence` | the examples of a split as a sequence, which `shardkit.open` returns |
| `sampler` | the order of training as indices of the sequence: `shardkit.sampler`; `grain_sampler` for Grain |
| `reading` | read the record of an example and check its CRCs |
| `runs`, `key_lookup` | join neighbouring records to read them at once; find the rows of keys |
| `example` | one example: typed features, its picture, boxes and mask |
| `selection` | choose examples for people to look at |
| `drawing` | draw boxes and masks on a picture; `contact_sheet` arranges pictures with captions |
| `extraction` | write a dataset back to folders of images and tables |

Training input belongs in `reader`, the bytes of records and indexes in `dataset`.
"""

from shardkit.records.example import Example
from shardkit.records.sampler import Sampler
from shardkit.records.sequence import Examples

__all__ = ["Example", "Examples", "Sampler"]
