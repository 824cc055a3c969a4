"""Which files of a reading are images that may be examples, where their masks are, and a reading while it is opened."""

import posixpath
import re
import secrets
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.sources.filtered_folder import IgnoreGlob
from shardkit.sources.listing import count_skipped, unicode_problem
from shardkit.sources.readings.values import Annotation, Reading
from shardkit.sources.walking import children, ending, files_below, is_image, is_within, join
from shardkit.storage import Entry, Folder

MASKS = "masks of images"  # why they are no examples
_FIELD = re.compile(r"\{(-?[0-9]+|dir|stem|name)\}")
_MAX_FOLDERS = 64  # whose files are kept


@dataclass(frozen=True, slots=True)
class MaskPaths:
    """Templates of masks, and of the images that they are of."""

    # Template of a mask, and of its image; the first one whose file exists counts
    templates: tuple[tuple[str, str], ...]

    @property
    def globs(self) -> tuple[str, ...]:
        globs = (posixpath.normpath(_FIELD.sub("*", mask.replace("{dir}/", ""))) for mask, _ in self.templates)
        return tuple(dict.fromkeys(globs))

    @property
    def are_invertible(self) -> bool:
        """Whether the path of a mask always tells that of its image."""
        return all({*_parts(_whole(image))[1::2]} <= {*_parts(mask)[1::2]} for mask, image in self.templates)

    def is_mask(self, path: str) -> bool:
        return any(_mask_match(mask, path) for mask, _ in self.templates)

    def of_image(self, key: str) -> list[str]:
        """Return the paths at which the mask of an image may be, some without ending."""
        stem = posixpath.splitext(key)[0]
        found = ((mask, _image_pattern(image).fullmatch(stem)) for mask, image in self.templates)
        paths = (_filled(mask, match, key) for mask, match in found if match)
        return [path for path in paths if path is not None]

    def image_of(self, path: str) -> str | None:
        """Return the path without ending that the image of a mask has; None if the templates do not tell."""
        for mask, image in self.templates:
            if match := _mask_match(mask, path):
                given = {name: value or "." for name, value in match.groupdict().items()}
                parts = [*_parts(_whole(image))]
                if given.keys() >= {*map(_group, parts[1::2])}:
                    parts[1::2] = [given[_group(field)] for field in parts[1::2]]
                    return posixpath.normpath("".join(parts))
        return None

    def masks(self, folder: Folder, left_out: Iterable[str] = ()) -> Iterator[tuple[str, Entry]]:
        yield from self._walk(folder, (mask for mask, _ in self.templates), left_out, of_masks=True)

    def images(self, folder: Folder, left_out: Iterable[str] = ()) -> Iterator[tuple[str, Entry]]:
        """Yield path and entry of all images that may have a mask."""
        yield from self._walk(folder, (_whole(image) for _, image in self.templates), left_out, of_masks=False)

    def _walk(
        self, folder: Folder, templates: Iterable[str], left_out: Iterable[str], *, of_masks: bool
    ) -> Iterator[tuple[str, Entry]]:
        places = {text.partition("{")[0].rpartition("/")[0] for text in templates}
        outer = [one for one in sorted(places) if not any(is_within(one, other) for other in places - {one})]
        for place in outer:
            for path, entry in files_below(folder, place, tuple(left_out)):
                if is_image(entry.name) and self.is_mask(path) == of_masks:
                    yield path, entry


def _mask_match(template: str, path: str) -> "re.Match[str] | None":
    pattern, has_ending = _mask_pattern(template)
    return pattern.fullmatch(path if has_ending else posixpath.splitext(path)[0])


def _whole(image: str) -> str:
    return image if "/" in image or "{dir}" in image else f"{{dir}}/{image}"


@cache
def _image_pattern(image: str) -> "re.Pattern[str]":
    return _pattern(_whole(image))


@cache
def _mask_pattern(mask: str) -> "tuple[re.Pattern[str], bool]":
    return _pattern(mask), ending(mask) in IMAGE_ENDINGS


@cache
def _parts(template: str) -> list[str]:
    """Return the texts of a template, with a field after each but the last."""
    return _FIELD.split(template)


def _group(field: str) -> str:
    return f"folder{field.replace('-', '_')}" if field not in {"dir", "stem", "name"} else field


def _pattern(template: str) -> "re.Pattern[str]":
    """Return the expression of the paths that a template may stand for; its fields are named groups."""
    made, known = "", set[str]()
    for i, part in enumerate(_FIELD.split(template)):
        name = _group(part)
        if i % 2 == 0:
            # No folder in place of {dir} is no slash, either.
            made += re.escape(part.removeprefix("/") if made.endswith("(?P<dir>(?:[^/]+/)*)") else part)
        elif name in known:
            made += f"(?P={name})"
        else:
            known.add(name)
            made += f"(?P<{name}>{'(?:[^/]+/)*' if name == 'dir' else '[^/]+'})"
    return re.compile(made, re.DOTALL)


def _filled(template: str, match: "re.Match[str]", key: str) -> str | None:
    """Return the path of an image's mask; None if the image is not in as many folders."""
    above, _, name = key.rpartition("/")
    parts, given = [*_parts(template)], match.groupdict()
    for i in range(1, len(parts), 2):
        match parts[i]:
            case "dir":
                parts[i] = given.get("dir", above) or "."
            case "stem":
                parts[i] = given.get("stem") or posixpath.splitext(name)[0]
            case "name":
                parts[i] = name
            case number:
                folders = above.split("/") if above else []
                if not -len(folders) <= int(number) < len(folders):
                    return None
                parts[i] = folders[int(number)]
    path = "".join(parts)
    return posixpath.normpath(path) if "./" in path or "//" in path else path


class FilesOfFolders:
    """Files by their paths with and without ending; lists each folder once, as long as few others come between."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._names: dict[str, dict[str, str | list[str]]] = {}  # by folder and name without ending

    def find(self, path: str) -> tuple[str, ...]:
        """Return the file at a path, or those images of that path without ending; () if there is none."""
        above, _, name = path.rpartition("/")
        if above not in self._names:
            while len(self._names) >= _MAX_FOLDERS:
                self._names.pop(next(iter(self._names)))
            self._names[above] = self._listed(above)
        names = self._names[above]
        exact = names.get(posixpath.splitext(name)[0], ())
        if exact == name or (isinstance(exact, list) and name in exact):
            return (path,)
        found = names.get(name, ())
        return (join(above, found),) if isinstance(found, str) else tuple(join(above, one) for one in found)

    def _listed(self, path: str) -> dict[str, str | list[str]]:
        names: dict[str, str | list[str]] = {}
        for one in children(self._folder, path):
            if not one.is_folder and is_image(one.name):
                there = names.setdefault(stem := posixpath.splitext(one.name)[0], one.name)
                if there is not one.name:
                    names[stem] = [*([there] if isinstance(there, str) else there), one.name]
        return names


@dataclass(frozen=True, slots=True)
class ImagePaths:
    """Which files are images that label files may name."""

    include: tuple[IgnoreGlob, ...] = ()  # globs of the examples; () for all
    exclude: tuple[IgnoreGlob, ...] = ()  # globs of images that are none
    excluded: str | None = None  # path that is not listed, because it is the output; None for none
    masks: MaskPaths | None = None  # where masks are, which are no examples; None for none

    def files(self, folder: Folder, below: str = "", skip: Collection[str] = ()) -> Iterator[tuple[str, Entry]]:
        """Yield the images of a folder that are below a path in it, but not below some other paths."""
        return self.counted(folder, below, {}, skip=skip)

    def counted(
        self,
        folder: Folder,
        below: str,
        skipped: dict[str, int],
        named: Collection[str] = (),
        skip: Collection[str] = (),
    ) -> Iterator[tuple[str, Entry]]:
        """Yield images as `files` does, but those of `named`; count the other ones that are no examples."""
        for path, entry in files_below(folder, below, (*skip, *self.left_out)):
            if is_image(entry.name) and path not in named:
                if kind := self.why_left_out(path):
                    count_skipped(skipped, kind)
                else:
                    yield path, entry

    def paths(self, folder: Folder, below: str = "") -> Iterator[str]:
        """Yield the paths of the images of a folder that are below a path in it."""
        yield from (path for path, _ in self.files(folder, below) if not unicode_problem(path))

    @property
    def left_out(self) -> tuple[str, ...]:
        return () if self.excluded is None else (self.excluded,)

    @property
    def globs_of_masks(self) -> tuple[str, ...]:
        return () if self.masks is None else self.masks.globs

    @property
    def are_chosen(self) -> bool:
        return bool(self.include or self.exclude or self.masks or self.excluded is not None)

    def why_left_out(self, path: str) -> str | None:
        """Return how an image that is no example is counted; None if it is one."""
        if self.excluded is not None and path.startswith(f"{self.excluded}/"):
            return "images in the folder of the output"
        if self.masks is not None and self.masks.is_mask(path):
            return MASKS
        if glob := next((one for one in self.exclude if one.matches(path)), None):
            return f"excluded by {printable(glob.text)}"
        if self.include and not any(one.matches(path) for one in self.include):
            return "images that the reading does not include"
        return None


@dataclass(slots=True)
class Binding:
    """A reading, and the folder that it is read in."""

    tree: Folder  # SOURCE, where the paths of label files start
    folder: Folder  # the folder that keys start at
    images: ImagePaths
    reading: Reading
    # Tells what is read for it from what was read when the same folder was opened before
    opened: str = field(init=False, default_factory=partial(secrets.token_hex, 8))

    def complete(self, old: Annotation, new: Annotation) -> None:
        self.reading = self.reading.mapped(lambda one: new if one == old else one)

    def other_classes(self, path: str, names: Iterable[str]) -> DataError:
        """Return the error for a file that names other classes than the reading."""
        found, known = (", ".join(map(printable, some)) for some in (names, self.reading.classes))
        return DataError(
            f"{self.tree.url}/{path}: it names other classes ({found}) than the reading ({known}); make them agree"
        )
