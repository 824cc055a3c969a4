"""The table of an extracted dataset: what `extract` writes beside the images, and what `convert` reads again.

    FOLDER/examples.jsonl    one JSON object for each example: `file`, `key`, `split`, and every feature
    FOLDER/classes.txt       class names, one a line, in label order
    FOLDER/extracted.json    types of the features, because JSON has none for empty lists; marks the layout

A feature's column has its name. Classes are names: `label`, or the list `labels`; null if the image has no label on
purpose and `has_unlabelled` of TYPES is true. `segmentation_mask` is the path
of the mask. `objects` is a list with an object for each box: `bbox` is [ymin, xmin, ymax, xmax] as fractions of height
and width, `label` its class, and the others are the features below `objects/`.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from shardkit.dataset import features as names
from shardkit.dataset.features import Feature
from shardkit.errors import DataError

TABLE, CLASSES, TYPES = "examples.jsonl", "classes.txt", "extracted.json"
FILE, KEY, SPLIT, GROUP, OBJECTS = "file", "key", "split", "group", "objects"
BOX, OBJECT_LABEL = "bbox", "label"
UNLABELLED = "unlabelled"  # folder of images that have no label on purpose, next to those of the classes
_OWN = {FILE, SPLIT, GROUP, OBJECTS}
_PREFIX = "feature/"


class ExtractedTypes(BaseModel):
    """The content of TYPES.

    Attributes:
        format_version: Version of the table's form.
        features: The dataset's features.
        splits: Names of the splits that were extracted.
        has_unlabelled: Whether a label that is null says that the image has none on purpose; in the file only if so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: Literal[1] = 1
    features: dict[str, Feature]
    splits: list[str]
    has_unlabelled: bool = False

    def to_json(self) -> str:
        """Return the content of the file."""
        return self.model_dump_json(indent=1, exclude=None if self.has_unlabelled else {"has_unlabelled"})


def parse_types(raw: bytes, where: str) -> ExtractedTypes:
    """Return the content of TYPES.

    Args:
        raw: The file's bytes.
        where: The file, for errors.

    Raises:
        DataError: It is something else, or of a newer version.
    """
    try:
        return ExtractedTypes.model_validate_json(raw)
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join(map(str, found["loc"])) or "its beginning"
        msg = f"{where}: the file is not what `shardkit extract` writes, at {place}: {found['msg']}; extract again"
        raise DataError(msg) from None


def column_of(feature: str) -> str:
    """Return the column of a feature that is not of objects; a name that another column has gets a prefix."""
    return f"{_PREFIX}{feature}" if feature in _OWN or feature.startswith(_PREFIX) else feature


def object_fields(features: Mapping[str, Any]) -> dict[str, str]:
    """Return the features of objects besides boxes and classes, by their names in an object."""
    own = {f"{names.OBJECTS}bbox", names.OBJECT_LABELS}
    return {
        name.removeprefix(names.OBJECTS): name
        for name in features
        if name.startswith(names.OBJECTS) and name not in own
    }


def columns_of(features: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of the table of a dataset with some features."""
    plain = [column_of(name) for name in features if name != names.IMAGE and not name.startswith(names.OBJECTS)]
    objects = [OBJECTS] if names.OBJECT_LABELS in features else []
    return tuple(dict.fromkeys([FILE, KEY, SPLIT, GROUP, *plain, *objects]))
