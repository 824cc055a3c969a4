"""The lists of Oxford-IIIT Pet, from which its trimaps take their splits: ``Abyssinian_100 1 1 1``."""

from shardkit.sources.formats.list_fields import read_fields
from shardkit.sources.walking import file_or_folder, is_folder
from shardkit.storage import Folder

ANNOTATIONS, IMAGES = "annotations", "images"
_WHOLE = f"{ANNOTATIONS}/list.txt"
_NUM_FIELDS = 4


def is_oxford_pets(folder: Folder) -> bool:
    """Return whether a folder has the lists of this dataset."""
    if not is_folder(folder, IMAGES) or file_or_folder(folder, _WHOLE) is None:
        return False
    for fields in read_fields(folder, _WHOLE):
        name, *numbers = fields.values
        if not name.startswith("#"):
            return len(numbers) == _NUM_FIELDS - 1 and all(map(str.isdecimal, numbers)) and "_" in name
    return False
