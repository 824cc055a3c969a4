"""All formats by the names that readings give them."""

from shardkit.sources.formats.box_lines import DOTA, ICDAR, KITTI, VISDRONE, WIDER_FACE, WIDER_PERSON
from shardkit.sources.formats.box_tables.records import BOX_TABLES
from shardkit.sources.formats.coco.records import COCO, PANOPTIC
from shardkit.sources.formats.format import Format, ImageFormat
from shardkit.sources.formats.image_json import BDD_IMAGE, DARWIN, DEEP_FASHION, FUNSD, LABELME, SUPERVISELY
from shardkit.sources.formats.label_studio import LABEL_STUDIO
from shardkit.sources.formats.vendors.formats import BOX_JSON
from shardkit.sources.formats.xml_files import CVAT, VOC
from shardkit.sources.formats.yolo import YOLO

# A file of these has many images, one of the others is about one.
_OF_MANY: tuple[Format, ...] = (COCO, PANOPTIC, CVAT, LABEL_STUDIO, BOX_JSON, WIDER_FACE, BOX_TABLES)
FORMATS = {one.name: one for one in _OF_MANY}
IMAGE_FORMATS: dict[str, ImageFormat] = {
    one.name: one
    for one in (
        *(VOC, YOLO, KITTI, LABELME, VISDRONE, DOTA, ICDAR, WIDER_PERSON),
        *(SUPERVISELY, BDD_IMAGE, FUNSD, DEEP_FASHION, DARWIN),
    )
}
NAMES = (*FORMATS, *IMAGE_FORMATS)


def settings_of(name: str) -> frozenset[str]:
    """Return the names of the options that files of a format may have in a reading."""
    if name in IMAGE_FORMATS:
        return IMAGE_FORMATS[name].settings | {"splits", "field", "boxed"}
    return FORMATS[name].settings | {"drop", "ending", "splits", "field"}
