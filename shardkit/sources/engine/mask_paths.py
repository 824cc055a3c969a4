"""Where the masks of images are, by templates of paths: from an image to its mask, and back."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.file_names import ending
from shardkit.sources.walking import children, files_below, is_image, is_within, join
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
