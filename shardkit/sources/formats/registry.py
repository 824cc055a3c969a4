"""All formats by the names that readings give them."""

from shardkit.sources.formats.coco.records import COCO
from shardkit.sources.formats.cvat import CVAT
from shardkit.sources.formats.format import Format
from shardkit.sources.formats.inferred.format import BOXES
from shardkit.sources.formats.label_studio import LABEL_STUDIO
from shardkit.sources.formats.vendors.formats import BOX_JSON
from shardkit.sources.formats.wider_face import WIDER_FACE

FORMATS: dict[str, Format] = {one.name: one for one in (COCO, CVAT, LABEL_STUDIO, BOX_JSON, BOXES, WIDER_FACE)}
