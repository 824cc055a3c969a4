"""Lists of fields with a fixed meaning: an image's name without folder and ending, and its class.

ImageNet on Kaggle   LOC_val_solution.csv          ILSVRC2012_val_00048981,n03995372 85 1 499 272
Tiny ImageNet        val/val_annotations.txt       val_0.JPEG<tab>n03444034<tab>0<tab>32<tab>44<tab>62
Oxford-IIIT Pet      annotations/trainval.txt      Abyssinian_100 1 1 1
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from shardkit.reject_reasons import BAD_LINE, NO_LABEL
from shardkit.sources.listing import BadRecord
from shardkit.sources.lists.records import Fields, ListRecord, RecordReader, checked_key, read_fields, rejected
from shardkit.sources.walking import join
from shardkit.storage import Folder

_COMMENT = "#"


@dataclass(frozen=True, slots=True)
class FieldList(RecordReader):
    """Reads such a list.

    Attributes:
        path: The list.
        separator: Text between fields; None for blanks.
        base: Folder of the images.
        ending: What is added to an image's name; '' for nothing.
        label: Where the class is: the first word of the second field, or the name of the image up to its last '_'.
        split: The split; None if the source gives none.
        has_header: Whether the first line names the fields.
    """

    path: str
    separator: str | None
    base: str
    ending: str
    label: Literal["second", "name"]
    split: str | None
    has_header: bool = False

    def records(self, folder: Folder, skipped: dict[str, int]) -> Iterator[ListRecord]:
        """See RecordReader."""
        del skipped
        for fields in read_fields(folder, self.path, self.separator):
            if fields.values[0].startswith(_COMMENT) or (self.has_header and fields.line == 1):
                continue
            place, key = f"{self.path}, line {fields.line}", None
            try:
                if fields.problem:
                    raise BadRecord(BAD_LINE, fields.problem)
                key = join(self.base, checked_key(fields.values[0] + self.ending))
                label = self._label(fields)
            except BadRecord as error:
                yield rejected(place, fields.line, self.split, error, key)
            else:
                yield ListRecord(key, self.split, (label,), place, fields.line)

    def _label(self, fields: Fields) -> str:
        if self.label == "name":
            found = fields.values[0].rpartition("_")[0]
        else:
            found = fields.values[1].partition(" ")[0] if len(fields.values) > 1 else ""
        if not found:
            msg = "the line gives the image no class; add it"
            raise BadRecord(NO_LABEL, msg)
        return found
