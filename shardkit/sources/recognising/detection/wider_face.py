"""WIDER FACE: ``wider_face_split/wider_face_train_bbx_gt.txt`` with the images in ``WIDER_train/images/``.

``WIDER_test`` has no faces; its images are counted as skipped.
"""

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.sources.context import Opening
from shardkit.sources.engine.path_rules import PathRule
from shardkit.sources.formats.wider_face import WIDER_FACE
from shardkit.sources.listing import Source
from shardkit.sources.recognising.detection.found_files import FoundFile, open_found_files
from shardkit.sources.walking import file_or_folder, folders_in, is_folder, join
from shardkit.storage import Folder

_SPLITS = {"train": "train", "val": "validation"}


def is_wider_face(folder: Folder) -> bool:
    """Return whether a folder has WIDER FACE's lists."""
    return bool(_find_lists(folder))


def _find_lists(folder: Folder) -> tuple[FoundFile, ...]:
    found = []
    names = folders_in(folder)
    for word, split in _SPLITS.items():
        name = f"wider_face_{word}_bbx_gt.txt"
        tried = [join(place, name) for place in ("wider_face_split", "wider_face_split/wider_face_split", "")]
        path = next((path for path in tried if file_or_folder(folder, path) is not None), None)
        if path is None:
            continue
        top = f"WIDER_{word}"
        # Some copies have the archive's folder twice.
        places = [join(top, "images"), join(top, top, "images"), top]
        if top in names and (images := next((place for place in places if is_folder(folder, place)), None)):
            found.append(FoundFile(path, PathRule(images), split))
    return tuple(found)


def open_wider_face(opening: Opening) -> Source:
    """Find the lists of faces and their images."""
    folder = opening.folder
    found = _find_lists(folder)
    if not found:
        msg = (
            f"{folder.url}: there is no list of WIDER FACE next to its images; searched for "
            "wider_face_split/wider_face_train_bbx_gt.txt and WIDER_train/images"
        )
        raise DataError(msg)
    return open_found_files(opening, folder, WIDER_FACE.name, LAYOUTS["wider-face"].title, found, {})
