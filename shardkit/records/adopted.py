"""The features of examples whose records others wrote."""

from collections.abc import Mapping
from typing import Any

from shardkit import images
from shardkit.dataset.features import IMAGE, Feature
from shardkit.dataset.stored_names import StoredAs, with_own_names
from shardkit.errors import DataError
from shardkit.records.example import Location


def adopted_values(
    stored: dict[str, list[Any]], stored_as: StoredAs, features: Mapping[str, Feature], key: str, location: Location
) -> dict[str, list[Any]]:
    """Return the values of a record by the manifest's names, with those that the record lacks.

    Args:
        stored: Values by the names in the record, as `example.decode` returns them.
        stored_as: Names in the records by feature.
        features: The dataset's features.
        key: The example's key, from the index.
        location: The place of the record, for errors.

    Raises:
        RecordError: The sides of the boxes have different numbers of values; the message does not name the record.
        DataError: The record has no image, or its header cannot be read.
    """
    try:
        values = with_own_names(stored, stored_as, features)
        if stored_as.get("key") == ():
            values["key"] = [key.encode()]
        if "height" in stored_as or "width" in stored_as:
            image = values.get(IMAGE)
            info = images.inspect(bytes(image[0]) if image else b"")
            values |= {"height": [info.height], "width": [info.width]}
    except images.BadImage as error:
        msg = f"{location} ({key}): {error}"
        raise DataError(msg) from error
    return values
