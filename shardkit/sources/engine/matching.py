"""From the text that names an image in a label file to the image's key; exact, and without search."""

import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.sources.listing import ending, unicode_problem
from shardkit.sources.name_index import name_key, written_path
from shardkit.sources.readings.values import Match
from shardkit.sources.walking import files_below, join
from shardkit.storage import Folder

# In this order the first one counts of those that name most images.
MATCHES: tuple[tuple[Match, bool], ...] = (
    ("path", False),
    ("end", False),
    ("name", False),
    ("stem", False),
    ("path", True),
    ("end", True),
    ("name", True),
    ("stem", True),
)


@dataclass(frozen=True, slots=True)
class Matching:
    """How a text names an image.

    Attributes:
        match: By its path below `base`, the end of its path, its name, or its name without ending.
        fold: Whether case and the form of letters with accents are ignored.
        base: Folder that paths start at.
    """

    match: Match
    fold: bool = False
    base: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether a text is a key as it is, so that no image has to be listed."""
        return self.match == "path" and not self.fold

    def of_text(self, text: str) -> str:
        """Return what is compared of a text."""
        path = written_path(text)
        if self.match == "path":
            path = join(self.base, path)
        elif self.match in {"name", "stem"}:
            path = posixpath.basename(path)
        if self.match == "stem" and ending(path) in IMAGE_ENDINGS:
            path = posixpath.splitext(path)[0]
        return name_key(path) if self.fold else path

    def of_image(self, path: str) -> Iterator[str]:
        """Yield what texts may call an image."""
        path = name_key(path) if self.fold else path
        if self.match == "path":
            yield path
            return
        plain = posixpath.splitext(path)[0]
        if self.match == "name":
            yield posixpath.basename(path)
        elif self.match == "stem":
            yield posixpath.basename(plain)
        else:
            for whole in (path, plain):
                parts = whole.split("/")
                yield from ("/".join(parts[at:]) for at in range(len(parts)))


class ImageNames:
    """The images below a folder by what texts call them; about 300 bytes for each."""

    def __init__(self, paths: Iterable[str], matching: Matching) -> None:
        """Index the images.

        Args:
            paths: Their paths.
            matching: How texts name them.
        """
        self.matching = matching
        self._paths: dict[str, str | tuple[str, ...]] = {}
        for path in paths:
            for name in matching.of_image(path):
                other = self._paths.get(name)
                self._paths[name] = path if other is None else (*((other,) if isinstance(other, str) else other), path)

    def find(self, text: str) -> str | None:
        """Return the key of the image that a text names; None if there is none.

        Raises:
            DataError: It names several.
        """
        found = self._paths.get(self.matching.of_text(text))
        if found is None or isinstance(found, str):
            return found
        msg = (
            f"{printable(text)!r} names {len(found):,} images by their {_WORDS[self.matching.match]}, such as "
            f"{printable(found[0])} and {printable(found[1])}; {_longer(self.matching)}"
        )
        raise DataError(msg)

    def finder(self, default: Callable[[str], str]) -> Callable[[str], str]:
        """Return the function from a text to a key; to what another function gives, if no image has the name."""
        return lambda text: self.find(text) or default(text)


_WORDS: dict[Match, str] = {"path": "path", "end": "end of the path", "name": "name", "stem": "name without ending"}


def _longer(matching: Matching) -> str:
    if matching.fold:
        return "write the names as the files have them, and leave out `fold`"
    if matching.match == "stem":
        return "write names with their endings, or the folders before them (match: end)"
    return "write the folders before the names (match: end, or path)"


def image_paths(folder: Folder, excluded: str | None) -> Iterator[str]:
    """Yield the paths of all images below a folder."""
    left_out = () if excluded is None else (excluded,)
    for path, entry in files_below(folder, "", left_out):
        if ending(entry.name) in IMAGE_ENDINGS and not unicode_problem(path):
            yield path


def best_matching(
    texts: Iterable[str], paths: Iterable[str], base: str, match: Match | None, *, fold: bool
) -> Matching:
    """Return how texts name most images.

    Args:
        texts: The texts.
        paths: The images.
        base: Folder that paths in texts start at.
        match: The only one that counts; None for any.
        fold: Whether only those count that ignore case.
    """
    names, images = list(texts), list(paths)
    best, most = Matching(match or "path", fold, base), -1
    for one, folds in MATCHES:
        if match not in {None, one} or (fold and not folds):
            continue
        matching = Matching(one, folds, base)
        known = {name for path in images for name in matching.of_image(path)}
        count = sum(matching.of_text(text) in known for text in names)
        if count > most:
            best, most = matching, count
    return best
