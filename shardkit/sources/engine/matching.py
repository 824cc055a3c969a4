"""From the text that names an image in a label file to the image's key; exact, and without search."""

import posixpath
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.values import Match
from shardkit.options.words import named
from shardkit.sources.engine.paths import PathPrefix, replace_prefix
from shardkit.sources.name_index import name_key, without_file_ending, without_link, written_path
from shardkit.sources.walking import ending, join

T = TypeVar("T", bound=Hashable)

_WORDS = {"path": "path", "end": "end of the path", "name": "name", "stem": "name without ending"}
# Of those that name most images, the first one counts.
_ORDER = tuple((cast("Match", match), fold) for fold in (False, True) for match in _WORDS)


@dataclass(frozen=True, slots=True)
class Matching:
    """How a text names an image."""

    match: Match  # by its path below `base`, the end of its path, its name, or its name without ending
    fold: bool = False  # whether case and the form of letters with accents are ignored
    base: str = ""  # folder that paths start at

    @property
    def is_plain(self) -> bool:
        """Whether a text is a key as it is, so that no image has to be listed."""
        return self.match == "path" and not self.fold

    def of_text(self, text: str) -> str:
        """Return what is compared of a text."""
        path = written_path(text)
        if self.match == "end" and not self.base:
            path = path.lstrip("/")
        if self.match in {"path", "end"}:
            path = posixpath.normpath(join(self.base, path))
        elif self.match in {"name", "stem"}:
            path = posixpath.basename(path)
        if self.match == "stem":  # a list may name 1.jpg by its 1.xml
            path = posixpath.splitext(path)[0] if ending(path) in IMAGE_ENDINGS else without_file_ending(path)
        return name_key(path) if self.fold else path

    def of_image(self, path: str) -> Iterator[str]:
        """Yield what texts may call an image, the whole path first."""
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
                yield whole
                at = whole.find("/") + 1
                while at:
                    yield whole[at:]
                    at = whole.find("/", at) + 1


Paths: TypeAlias = str | tuple[str, ...]  # one, or several


@dataclass(frozen=True, slots=True)
class Strip:
    """What is taken off paths before they are matched."""

    prefixes: tuple[PathPrefix, ...] = ()
    of_names: str = ""  # a regular expression that is taken off the names; '' for none

    @classmethod
    def parse(cls, texts: Sequence[str]) -> "Strip":
        pairs = [text.rpartition("=") for text in texts if not text.startswith("~")]
        prefixes = tuple(PathPrefix(old.replace("\\", "/").rstrip("/"), new.rstrip("/")) for old, _, new in pairs)
        return cls(prefixes, "|".join(text[1:] for text in texts if text.startswith("~")))

    def of(self, text: str) -> str:
        text = without_link(text)
        path = replace_prefix(text, self.prefixes)
        if path == text:
            path = replace_prefix(written_path(text), self.prefixes)
        if not self.of_names:
            return path
        above, name = posixpath.split(path.replace("\\", "/"))
        return join(above, re.sub(self.of_names, "", name))


class ImageNames:
    """The images of a source by what texts call them; about 300 bytes for each."""

    def __init__(self, paths: Iterable[str], matching: Matching) -> None:
        self.matching = matching
        self._whole: dict[str, Paths] = {}  # an image of that very path comes before those of which it is the end
        self._paths: dict[str, Paths] = {}
        for path in paths:
            if matching.match == "end":
                whole = name_key(path) if matching.fold else path
                for name in {whole, posixpath.splitext(whole)[0]}:
                    _add(self._whole, name, path)
            for name in matching.of_image(path):
                _add(self._paths, name, path)

    def find(self, text: str, base: str | None = None, *, where: str = "") -> str | None:
        """Return the key of the image that a text names, which is in the file `where`; None if there is none."""
        matching = self.matching if base is None else Matching(self.matching.match, self.matching.fold, base)
        name = matching.of_text(text)
        found = self._whole.get(name) or self._paths.get(name)
        if found is None or isinstance(found, str):
            return found
        msg = f"{where}: " if where else ""
        msg += (
            f"{printable(text)!r} names {len(found):,} images by their {_WORDS[matching.match]}, such as "
            f"{printable(found[0])} and {printable(found[1])}; {_remedy(matching, found)}"
        )
        raise DataError(msg)


def _add(names: dict[str, Paths], name: str, path: str) -> None:
    other = names.get(name)
    names[name] = path if other is None else (*((other,) if isinstance(other, str) else other), path)


def _remedy(matching: Matching, found: Sequence[str]) -> str:
    stem, end = posixpath.splitext(found[1])
    if posixpath.splitext(found[0])[0] == stem:
        return f"write the endings, too, or leave out images of one kind with {named('ignore', (f'*{end}',))}"
    if matching.fold:
        return "write the names as the files have them, and leave out `fold`"
    if matching.match == "stem":
        return "write names with their endings, or the folders before them (match: end)"
    return f"write the folders before the names, or give the folder of the images with {named('root')}"


@dataclass(slots=True)
class Naming:
    """How some texts name images, and how many of them do."""

    matching: Matching
    count: int


def find_matching(
    texts: Mapping[T, Iterable[str]],
    images: Callable[[], Iterable[str]],
    bases: Iterable[str],
    match: Match | None,
    *,
    fold: bool,
) -> dict[T, Naming]:
    """Return for each group of texts how they name most images."""
    ways = [
        Matching(way, folds, base)
        for way, folds in _ORDER
        if match in {None, way} and (folds or not fold)
        for base in (bases if way in {"path", "end"} else ("",))
    ]
    named = {group: {way: _names(some, way, match) for way in ways} for group, some in texts.items()}
    waiting: dict[Matching, dict[str, list[T]]] = {way: {} for way in ways}
    for group, of_ways in named.items():
        for way, names in of_ways.items():
            for name in names:
                waiting[way].setdefault(name, []).append(group)
    counts = dict.fromkeys(((group, way) for group in texts for way in ways), 0)
    for path in images():
        for way, of_way in waiting.items():
            for name in way.of_image(path) if of_way else ():
                for group in of_way.pop(name, ()):
                    counts[group, way] += named[group][way][name]
    best = {group: max(ways, key=lambda way: counts[group, way]) for group in texts}
    return {group: Naming(way, counts[group, way]) for group, way in best.items()}


def _names(texts: Iterable[str], way: Matching, match: Match | None) -> dict[str, int]:
    names: dict[str, int] = {}
    for text in texts:
        # 1.png may be another image than 1.jpg: only the user may say that endings do not count.
        if way.match == "stem" and match is None and ending(text) in IMAGE_ENDINGS:
            continue
        name = way.of_text(text)
        names[name] = names.get(name, 0) + 1
    return names
