"""COCO as a format: the records of images, with their annotations as objects and as classes."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

import pyarrow as pa

from shardkit.reject_reasons import DUPLICATE_ID
from shardkit.sources.formats.coco.columns import CocoColumns, annotation_name, category_of, read_coco
from shardkit.sources.formats.format import Format, Options
from shardkit.sources.formats.record import ImageRecord, Object
from shardkit.sources.json_stream import array_items
from shardkit.sources.walking import looks_like

OBJECT_FIELDS = (
    pa.field("area", pa.float32()),  # pixels; of the box if the annotation has none
    pa.field("id", pa.int64()),  # NO_ID if the annotation has no integer id
    pa.field("is_crowd", pa.bool_()),
    pa.field("segmentation", pa.string()),  # the source's JSON without blanks: polygons or RLE; '' for none
)
CATEGORY = "category"  # the attribute of images whose annotations are classes
_ARRAYS = rb'"(images|annotations|categories)"\s*:\s*\['


class _Coco(Format):
    """COCO; with the option `boxes: none`, annotations are classes of whole images, as in iNaturalist."""

    name = "coco"
    title = "COCO"
    has_many = True
    object_fields = OBJECT_FIELDS

    def sniff(self, head: bytes) -> bool:
        """See Format."""
        return looks_like(head, _ARRAYS, start=b"{")

    def names(self, file: BinaryIO, name: str, options: Options) -> Iterator[str]:
        """See Format; annotations are not parsed into columns."""
        del options
        columns = CocoColumns(name)
        for line, (_, record) in enumerate(array_items(file, name, {"images"}), 1):
            columns.add_image(record, line)
            yield from filter(None, columns.image_names)
            columns.image_names.clear()
            columns.image_of.clear()

    def classes(self, file: BinaryIO, name: str, options: Options) -> Mapping[int, str]:
        """See Format; several ids of one name are one class."""
        del options
        found = (category_of(record) for _, record in array_items(file, name, {"categories"}))
        pairs = sorted((number, label) for number, label in found if type(number) is int and isinstance(label, str))
        classes: dict[int, str] = {}
        for number, label in pairs:
            if label not in classes.values():
                classes[number] = label
        return classes

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        """See Format; the bad records of the file follow in a record without image."""
        columns = read_coco(file, name, name, has_boxes=options.get("boxes") != "none")
        joined = columns.joined()
        order = joined.order.tolist()
        for i, image in enumerate(columns.image_names):
            if image:
                chosen = order[joined.starts[i] : joined.starts[i + 1]]
                labels = dict.fromkeys(columns.categories[columns.category_ids[one]] for one in chosen)
                objects = [_object(columns, one) for one in chosen] if columns.has_boxes else []
                yield ImageRecord(
                    image,
                    columns.image_sizes[i],
                    objects,
                    attributes={CATEGORY: [*labels]} if labels else {},
                    number=columns.image_lines[i],
                    bad=columns.repeated_id(i) or "",
                    reason=DUPLICATE_ID,
                )
        problems = [one._replace(key=one.key.removeprefix(f"{name}, ")) for one in columns.problems]
        if problems:
            yield ImageRecord(problems=problems)


def _object(columns: CocoColumns, i: int) -> Object:
    x, y, width, height = columns.boxes[4 * i : 4 * i + 4]
    return {
        "bbox": [y, x, y + height, x + width],
        "label_name": columns.categories[columns.category_ids[i]],
        "name": annotation_name(columns.ids[i]),
        "area": columns.areas[i],
        "id": columns.ids[i],
        "is_crowd": bool(columns.crowd[i]),
        "segmentation": columns.segmentations[i],
    }


COCO = _Coco()
