"""Find images by names that were written on another machine: one index for tables, lists of splits and boxes.

Names differ in case, in the Unicode form of letters with accents, in blanks, in the folders before them and in their
endings. The end of the path decides between images of one name.
"""

import itertools
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.listing import unicode_problem
from shardkit.sources.walking import ending, files_below
from shardkit.storage import Folder

_QUERY = re.compile(r"^(https?://[^?#]*)[?#].*", re.IGNORECASE | re.DOTALL)
_DRIVE = re.compile(r"^[A-Za-z]:/")
_WITH_LINK = re.compile(r"^([^()]+\.\w{3,4}) \(https?://[^()\s]+\)$")
UPLOAD_PREFIX = re.compile(r"[0-9a-f]{8}-(?=.)")  # that Label Studio adds to the names of uploaded files
_PREFIX = re.compile(r"(?:gt|label|labels|anno|annotation)_", re.IGNORECASE)  # ICDAR: gt_img_1.txt of img_1.jpg
_OF_AN_IMAGE = frozenset({".xml", ".txt", ".json"})  # endings of files of boxes: a list may name these for their images
_WITH_NAME = re.compile(r"(?P<name>.+?\.(?:jpe?g|png|bmp|tiff?|webp))[-_. ]", re.IGNORECASE)  # 1.jpg___objects.json


def written_path(text: str) -> str:
    """Return a path as a text means it: with '/', without blanks around it and a drive of Windows."""
    path = without_link(text.strip()).replace("\\", "/").removeprefix("./")
    return _DRIVE.sub("/", path)


def without_link(text: str) -> str:
    """Return a name without the link in brackets behind it, as in Airtable and Notion; a URL without its query."""
    return _QUERY.sub(r"\1", _WITH_LINK.sub(r"\1", text)) if "://" in text else text


def uploaded_name(name: str) -> str:
    """Return the name that a file had before it was uploaded; '' if it has no prefix of an upload."""
    found = UPLOAD_PREFIX.match(name)
    return name[found.end() :] if found else ""


def without_file_ending(path: str) -> str:
    """Return a path without its ending if it is that of a file about one image: ``1.xml`` stands for ``1.jpg``."""
    return posixpath.splitext(path)[0] if ending(path) in _OF_AN_IMAGE else path


def name_key(name: str) -> str:
    """Return what is compared of a name: machines write it in other cases, and letters with accents in two ways."""
    return name.casefold() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def stems_of_file(stem: str) -> list[str]:
    """Return the other names that the image of a file of one image may have: ``img_1`` of ``gt_img_1``."""
    longer = _WITH_NAME.match(stem)
    plain = _PREFIX.sub("", stem)
    without = posixpath.splitext(plain)[0] if ending(plain) in IMAGE_ENDINGS else ""
    return [one for one in (plain, longer["name"] if longer else "", without) if one not in {"", stem}]


def path_end(path: str, num_parts: int, *, has_ending: bool) -> str:
    """Return what is compared of a path: its last parts."""
    is_named_so = ending(path) in IMAGE_ENDINGS | _OF_AN_IMAGE
    plain = posixpath.splitext(path)[0] if is_named_so and not has_ending else path
    return name_key("/".join(plain.strip("/").rsplit("/", num_parts)[-num_parts:]))


def agreeing_most(paths: Sequence[str], text: str) -> tuple[list[str], int]:
    """Return the images of one name whose folders agree with the end of a text in most parts, and that number."""
    wanted = [name_key(part) for part in reversed(text.strip("/").split("/")[:-1])]
    num_parts = {}
    for path in paths:
        folders = map(name_key, reversed(path.split("/")[:-1]))
        pairs = zip(folders, wanted, strict=False)
        num_parts[path] = 1 + sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    most = max(num_parts.values())
    return [path for path, num in num_parts.items() if num == most], most


def nearest(paths: Sequence[str], place: str) -> list[str]:
    """Return those of some images whose folders agree most with those of a file, from the outside and the inside.

    ``train/labels/a/1.txt`` is near ``train/images/a/1.jpg``, which has three folders like it.
    """
    own = place.split("/")[:-1]
    scores = {path: _num_equal(path.split("/")[:-1], own) for path in paths}
    best = max(scores.values(), default=(0, 0))
    return [path for path, score in scores.items() if score == best]


def _num_equal(some: Sequence[str], others: Sequence[str]) -> tuple[int, int]:
    """Return how many names are equal, from the first and from the last on; and minus the number of the rest."""
    least = min(len(some), len(others))
    first = next((at for at in range(least) if some[at] != others[at]), least)
    last = next((at for at in range(least - first) if some[-1 - at] != others[-1 - at]), least - first)
    return first + last, -(len(some) - first - last)


class NameIndex:
    """Images by their names, listed when the first one is asked for: about 300 bytes each."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = paths

    @classmethod
    def of_folder(cls, folder: Folder) -> "NameIndex":
        return cls(path for path, _ in files_below(folder, ""))

    def find_all(self, text: str) -> list[str]:
        """Return the paths of the images that a text may mean: those that agree with its end in most parts."""
        path = written_path(text)
        name = name_key(posixpath.basename(path))
        found = self._names.get(name)
        if found is None and ending(name) not in IMAGE_ENDINGS:
            found = self._stems.get(name)
        if found is None and (plain := uploaded_name(name)):
            return self.find_all(posixpath.join(posixpath.dirname(path), plain))
        if found is None or len(found) == 1:
            return list(found or ())
        best, _ = agreeing_most(found, path)
        return best

    @cached_property
    def _names(self) -> dict[str, tuple[str, ...]]:
        paths = (path for path in self._paths if ending(path) in IMAGE_ENDINGS and not unicode_problem(path))
        return _grouped((name_key(posixpath.basename(path)), path) for path in paths)

    @cached_property
    def _stems(self) -> dict[str, tuple[str, ...]]:
        pairs = ((posixpath.splitext(name)[0], path) for name, paths in self._names.items() for path in paths)
        return _grouped(pairs)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for key, path in pairs:
        found[key] = (*found.get(key, ()), path)
    return found
