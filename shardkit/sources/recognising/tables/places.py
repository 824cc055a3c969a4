"""Find the images that a column of a table names: where it says, by their names in folders below, or near its folder.

Kaggle's ``train.csv`` is next to ``train_images/``, and ``labels/train.csv`` next to ``images/``. Paths that were
written on another machine lead nowhere, and only their ends are those of images here.
"""

import contextlib
import functools
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.values import Match
from shardkit.options.words import named
from shardkit.sources.engine.paths import (
    absolute_form,
    build_keys,
    common_parts,
    folder_parts,
    is_drive,
    parse_prefixes,
    replace_prefix,
    shared_folder,
)
from shardkit.sources.engine.splits import split_of_file
from shardkit.sources.formats.tables.opening import Choice, refuse
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.listing import BadRecord
from shardkit.sources.name_index import UPLOAD_PREFIX
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.claims.image_names import Found, ImageNames, is_file
from shardkit.sources.walking import folders_in, join, parent_of
from shardkit.storage import STORES, Folder, LocalFolder, RemoteFolder, open_folder

_NUM_LOOKED_UP = 100  # images of the first records that are looked up; usually the first one exists
_MAX_SHOWN = 3  # folders
_MAX_COMMANDS = 4  # of a refusal
_MAX_BEGINS = 20  # different beginnings of paths that are taken off
# Folders beside that of the table may belong to another dataset, so that only these names are searched.
_FOR_IMAGES = re.compile(
    r"((train|test|val|valid|validation|all|raw)[_-]?)?(images?|imgs?|photos?|pictures?|jpe?gs?|pngs?|jpegimages)"
    r"([_-][a-z0-9]{1,10}|[0-9]{1,4})?",
    re.IGNORECASE,
)


class Naming(NamedTuple):
    """How texts name images: by a path below a folder, or otherwise."""

    match: Match | None  # None: the engine compares all images to find it
    bases: list[str]  # the folders that the agreeing ends of paths start at
    strip: tuple[str, ...]  # what is taken off the beginning of paths, as in Column


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the images are that a column names, and how it names them."""

    folder: Folder  # that keys start at
    match: Match | None = "path"  # see Naming
    base: str = ""  # folder that paths start at, below that of the keys
    strip: tuple[str, ...] = ()
    remark: str = ""  # what the user should know about it
    is_found: bool = True  # whether some image is there


def naming_of(found: Mapping[str, Found], above: str = "") -> Naming:
    """Return how texts name the images that they were found to mean, with paths below `above`."""
    begins, bases = dict[str, None](), dict[str, None]()
    for text, one in found.items():
        for path in one.paths:
            parts, own = _parts(text), path[len(above) :].strip("/").split("/")
            num = min(one.num_parts, len(own))
            begins["/".join(parts[:-num]) or "/" * (len(parts) > num)] = None
            bases["/".join(own[:-num])] = None
    shared = functools.reduce(common_parts, [begin.split("/") for begin in begins] or [[]])
    old = "/".join(shared) or "/" * all(begin.startswith("/") for begin in begins)
    several = [*begins, old] if len(begins) <= _MAX_BEGINS else [old]
    strip = tuple(f"{begin}=" for begin in sorted(dict.fromkeys(several), key=len, reverse=True) if begin)
    are_exact = all(posixpath.basename(path) == _parts(text)[-1] for text, one in found.items() for path in one.paths)
    if found and all(one.is_upload for one in found.values()):
        strip += (f"~^{UPLOAD_PREFIX.pattern}",)
    is_path = len(bases) == 1 and are_exact and len(begins) == 1
    return Naming("path" if is_path else None, [*bases], strip)


def names_near(folder: Folder, options: SourceOptions, *, is_file: bool) -> Iterator[ImageNames]:
    """Yield the images that a table in a folder may name; if it is SOURCE, also those of folders beside its own."""
    start = folder if options.root is None else open_folder(options.root)
    yield ImageNames(start, None)
    above = parent_folder(start) if options.root is None and is_file else None
    if above is not None:
        own = start.url.rstrip("/").rpartition("/")[2]
        beside = [name for name in folders_in(above) if name != own and _FOR_IMAGES.fullmatch(name)]
        yield ImageNames(above, None, tuple(beside))


@dataclass(slots=True)
class Places:
    """Finds the images of a table."""

    folder: Folder  # the folder of the table's path
    path: str  # the table
    options: SourceOptions
    is_file: bool  # whether the table is SOURCE

    @property
    def url(self) -> str:
        """URL of the table."""
        return f"{self.folder.url}/{self.path}"

    def place(self, texts: Sequence[str], all_texts: Callable[[], Iterable[str]]) -> Placement:
        """Find the images that texts name."""
        texts = texts[:_NUM_LOOKED_UP]
        prefixes = parse_prefixes(self.options.path_prefix)
        given = tuple(f"{one.old or '/'}={one.new}" for one in prefixes)
        mapped = [replace_prefix(text, prefixes) for text in texts]
        is_said = bool(self.options.root or self.options.path_prefix)
        if self._are_urls(mapped) and not is_said:
            found = _found(ImageNames(self.folder, None), mapped)
            # One file of the same name may be another one, and one of a bucket more likely so than in the same folder.
            are_same = len(found) == len({*mapped}) and all(one.num_parts > 1 for one in found.values())
            if are_same and mapped[0].startswith(STORES):
                return self._by_names(self.folder, found, texts, mapped, given)
            if found:
                raise self._copies(found, mapped)
        if 2 * sum(map(is_drive, mapped)) <= len(mapped):
            folder, keys = build_keys(self.url, self.folder, self.options, texts, all_texts)
            good = [*dict.fromkeys(_good(keys.key, texts))]
            for base in [""] if keys.table_folder is None else dict.fromkeys([parent_of(self.path), ""]):
                paths = (path for key in good if f"{folder.url}/{(path := join(base, key))}" != self.url)
                if any(is_file(folder, path) for path in paths):
                    return Placement(folder, "path", base, given)
        for names in names_near(self.folder, self.options, is_file=self.is_file):
            if found := _found(names, mapped):
                return self._by_names(names.folder, found, texts, mapped, given)
        if self.options.path_prefix or not are_relative(mapped):
            raise self._missing(self.folder, {}, texts, mapped)
        start = self.folder if self.options.root is None else open_folder(self.options.root)
        return Placement(start, strip=given, is_found=False)

    def _are_urls(self, texts: Sequence[str]) -> bool:
        return "://" not in self.folder.url and all("://" in text and not text.startswith("file:") for text in texts)

    def _by_names(
        self,
        folder: Folder,
        found: Mapping[str, Found],
        written: Sequence[str],
        texts: Sequence[str],
        given: tuple[str, ...],
    ) -> Placement:
        """Return how texts name images that are not where they say."""
        paths = [path for one in found.values() for path in one.paths]
        are_all = len({*paths}) == len(paths) == len({*texts})
        is_said = bool(self.options.path_prefix or self.options.root) and not are_relative(texts)
        is_moved = any(len(_parts(text)) > one.num_parts for text, one in found.items())
        if is_moved and (not are_all or is_said):
            raise self._missing(folder, found, written, texts)
        if len(paths) > len(found):
            found = self._of_one_folder(folder, found, texts)
        match, bases, strip = naming_of(found)
        base = bases[0] if len(bases) == 1 else ""
        places = [printable(join(folder.url, one)) for one in bases]
        remark = f"; its images were found in {', '.join(places)}"
        if len(places) > _MAX_SHOWN:
            remark = f"; its images were found by their names in the folders below {printable(folder.url)}"
        elif match and strip:
            remark = f"; paths that began with {strip[0][:-1]} are below {places[0]} now"
        elif match is None and places == [folder.url]:
            example = shown(next(iter(found.values())).paths[0])
            remark = f"; images are found by names without endings or in another case, such as {example}"
        return Placement(folder, match, base, (*given, *strip), remark)

    def _of_one_folder(self, folder: Folder, found: Mapping[str, Found], texts: Sequence[str]) -> Mapping[str, Found]:
        """Return the images in one of several folders that have images of the same names."""
        bases = [[_base(path, one.num_parts) for path in one.paths] for one in found.values()]
        every = list(dict.fromkeys(base for some in bases for base in some))
        if len(every) < 2 or not any(all(base in some for some in bases) for base in every):
            return found
        chosen = self._of_split(folder, every, texts)
        inside = {
            text: [path for path in one.paths if _base(path, one.num_parts) == chosen] for text, one in found.items()
        }
        return {text: found[text]._replace(paths=paths) for text, paths in inside.items() if paths}

    def _of_split(self, folder: Folder, bases: Sequence[str], texts: Sequence[str]) -> str:
        """Return the folder of the table's split, such as train/ for Training_set.csv; refuse folders of one name."""
        splits = [split_of_file(f"{base}/") for base in bases]
        split = split_of_file(self.path)
        if split is not None and None not in splits and splits.count(split) == 1:
            return bases[splits.index(split)]
        places = [join(folder.url, base) for base in bases]
        choices = [Choice({"root": place}, f"the images are in {place.rpartition('/')[2]}/") for place in places]
        problem = f"{self.url}: image names of the table, such as {shown(texts[0])}, exist in {len(places)} folders"
        raise refuse(problem, self.url, choices[:_MAX_COMMANDS])

    def _copies(self, found: Mapping[str, Found], texts: Sequence[str]) -> CallError:
        """Return the refusal of URLs of images that are next to a local table, too: the bucket may be out of reach."""
        old, new = self._prefix(self.folder, found, texts)
        choices = [Choice({"path_prefix": (f"{old}={new}",)}, "the images are there")]
        if texts[0].startswith(STORES):
            choices.append(Choice({"root": old}, "the images are read from the bucket"))
        problem = f"{self.url}: its images are called {shown(texts[0])} and the like, and are in {new}, too"
        return refuse(problem, self.url, choices)

    def _prefix(self, folder: Folder, found: Mapping[str, Found], texts: Sequence[str]) -> tuple[str, str]:
        """Return the beginning of texts that leads nowhere, as it is written, and the folder where the rest is."""
        text, shared, new = texts[0], shared_folder(texts), "FOLDER"
        num = len(shared)
        if found:
            text, one = next(iter(found.items()))
            num = min(len(_parts(text)) - one.num_parts, num)
            new = join(folder.url, _base(one.paths[0], len(_parts(text)) - num))
        return text[: len("/".join(shared[:num]))] or "/" * bool(num), new

    def _missing(
        self, folder: Folder, found: Mapping[str, Found], written: Sequence[str], texts: Sequence[str]
    ) -> CallError:
        """Return the refusal of paths of which none exists, with the prefix that the user has to replace."""
        first = written[0]
        problem = f"{self.url}: none of the first images exists, for example {shown(first)}"
        problem += f" (after {named('path_prefix')}: {shown(texts[0])})" * (texts[0] != first)
        of_written = {one: found[text] for one, text in zip(written, texts, strict=True) if text in found}
        old, new = self._prefix(folder, of_written, written)
        if not old:
            return refuse(problem, self.url, [Choice({"root": "FOLDER"}, "FOLDER: where these paths start")])
        meaning = "the images are there now" if found else "FOLDER: where these images are now"
        return refuse(problem, self.url, [Choice({"path_prefix": (f"{old}={new}",)}, meaning)])


def are_relative(texts: Sequence[str]) -> bool:
    """Return whether most paths are relative."""
    return 2 * sum(is_drive(text) or absolute_form(text) is not None for text in texts) <= len(texts)


def _parts(text: str) -> list[str]:
    return [*folder_parts(text.removeprefix("./")), text.replace("\\", "/").rpartition("/")[2]]


def _base(path: str, num_parts: int) -> str:
    return "/".join(path.split("/")[:-num_parts])


def _good(key: Callable[[object], str], texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        with contextlib.suppress(BadRecord):
            yield key(text)


def _found(names: ImageNames, texts: Sequence[str]) -> dict[str, Found]:
    """Return the images that texts may name."""
    names.look_for(texts)
    return {text: one for text in texts if (one := names.find(text)) is not None}


def parent_folder(folder: Folder) -> Folder | None:
    """Return the folder above; None for the root of a disk, a bucket or an archive."""
    if not isinstance(folder, LocalFolder | RemoteFolder):
        return None
    above, _, name = folder.url.rstrip("/").rpartition("/")
    return open_folder(above) if name and above and not above.endswith("/") else None
