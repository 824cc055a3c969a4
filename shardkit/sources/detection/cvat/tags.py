"""CVAT's XML with tags of whole images and no boxes: the tags are the classes of the images."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from shardkit.layouts import LAYOUTS
from shardkit.sources.context import Opening
from shardkit.sources.detection.box_json.layout import BoxJson, open_files
from shardkit.sources.formats.inferred.trees import records
from shardkit.sources.formats.record import ImageRecord, encodable
from shardkit.sources.formats.vendors.fields import text_at
from shardkit.sources.formats.vendors.formats import JsonFormat
from shardkit.sources.formats.vendors.readers import dict_of

DEFAULT = "default"  # CVAT's subset of images without one


@dataclass(frozen=True, slots=True)
class CvatTags(BoxJson):
    """A source of CVAT's tags."""

    layout = LAYOUTS["cvat"].title


def open_tags(opening: Opening, paths: list[str]) -> CvatTags:
    """Open files of tags.

    Raises:
        DataError: Their images are not found.
    """
    kind = JsonFormat("CVAT's tags", (".xml",), b"", (), partial(records, kind=".xml", inside="image"), _parse)
    source = open_files(opening, paths, kind, CvatTags)
    return CvatTags(source.folder, source.files_folder, source.files, source.is_whole)


def _parse(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    del column
    subset = text_at(record, "subset")
    image.image, image.split = text_at(record, "name"), "" if subset.lower() == DEFAULT else subset
    tags = record.get("tag", [])
    for tag in map(dict_of, tags if isinstance(tags, list) else [tags]):
        image.attributes.setdefault("tag", []).append(encodable(text_at(tag, "label").strip()))
