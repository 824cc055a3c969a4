"""Examples of a dataset without TensorFlow: read singly, drawn, and written back to folders.

| module | contents |
|---|---|
| `sequence` | the examples of a split as a sequence, which `shardkit.open` returns |
| `runs`, `key_lookup` | join neighbouring records to read them at once; find the rows of keys |
| `example` | one example: typed features, its picture, boxes and mask |
| `record` | the stored record of an example: its place, its values if others wrote it, errors of reading it |
| `html` | examples in notebooks |
| `sampler`, `sampler_call` | the order of training as indices of the sequence; the call of `shardkit.sampler` |
| `selection` | choose examples for people to look at |
| `drawing` | draw boxes and masks on a picture, and save it; `lettering` finds fonts |
| `contact_sheet` | arrange pictures with captions |
| `extraction` | write a dataset back to folders of images and tables |
| `copies` | write all examples for other tools: `parquet_files`, `webdataset_files` |
| `new_folder` | write a folder whole or not at all |

Training input belongs in `reader`, the bytes of records and indexes in `dataset`.
"""

from shardkit.records.example import Example
from shardkit.records.sampler import Sampler
from shardkit.records.sequence import Examples

__all__ = ["Example", "Examples", "Sampler"]
