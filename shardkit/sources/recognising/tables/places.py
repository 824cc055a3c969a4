"""Find the images that a column of a table names: where it says, by their names in folders below, or near its folder.

Kaggle's ``train.csv`` is next to ``train_images/``, and ``labels/train.csv`` next to ``images/``. Paths that were
written on another machine lead nowhere, and only their ends are those of images here.
"""

import contextlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from shardkit.errors import CallError, MachineError
from shardkit.naming import printable
from shardkit.options.values import Match
from shardkit.options.words import named
from shardkit.sources.context import subfolder
from shardkit.sources.engine.prefixes import folder_parts, is_drive, parse_prefixes, replace_prefix, shared_folder
from shardkit.sources.engine.split_columns import split_of_file
from shardkit.sources.engine.table_paths import absolute_form, build_keys
from shardkit.sources.engine.table_refusals import Choice, refuse
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.listing import BadRecord
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.claims.image_names import Found, ImageNames
from shardkit.sources.walking import file_or_folder, folders_in, join, parent_of
from shardkit.storage import STORES, Folder, LocalFolder, RemoteFolder, open_folder

_NUM_LOOKED_UP = 100  # images of the first records that are looked up; usually the first one exists
_NUM_COUNTED = 20  # images that are looked up to find out whether a column names images at all
_MAX_COMMANDS = 4  # of a refusal
_MAX_SHOWN = 3  # folders
# Siblings of the table's folder may belong to another dataset, so that only these names are searched.
_FOR_IMAGES = re.compile(
    r"((train|test|val|valid|validation|all|raw)[_-]?)?(images?|imgs?|photos?|pictures?|jpe?gs?|pngs?|jpegimages)"
    r"([_-]?[a-z0-9]{1,10})?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the images are that a column names, and how it names them."""

    folder: Folder  # that keys start at
    match: Match | None = "path"  # None: all images are listed to find it
    base: str = ""  # folder that paths start at, below that of the keys
    strip: tuple[str, ...] = ()  # replacements of the beginning of paths
    remark: str = ""  # what the user should know about it
    files: tuple[str, ...] = ()  # for the first paths, the files that they name; fewer if some do not exist
    num_tried: int = 1  # paths that were looked up

    @property
    def agrees(self) -> bool:
        """Whether at least half of the paths name files."""
        return bool(self.files) and 2 * len(self.files) >= self.num_tried


@dataclass(slots=True)
class Places:
    """Finds the images of a table."""

    folder: Folder  # the folder of the table's path
    path: str  # the table
    options: SourceOptions

    @property
    def url(self) -> str:
        """URL of the table."""
        return f"{self.folder.url}/{self.path}"

    def place(self, texts: Sequence[str], all_texts: Callable[[], Iterable[str]], *, counting: bool) -> Placement:
        """Find the images that texts name.

        With `counting`, several images are looked up even if the first one is found.
        """
        texts = texts[:_NUM_LOOKED_UP]
        given = tuple(f"{one.old or '/'}={one.new}" for one in parse_prefixes(self.options.path_prefix))
        mapped = [replace_prefix(text, parse_prefixes(self.options.path_prefix)) for text in texts]
        if self._are_urls(mapped) and not (self.options.root or self.options.path_prefix):
            found = _found(self.folder, [""], mapped)
            # One file of the same name may be another one, and one of a bucket more likely so than in the same folder.
            are_same = len(found) == len({*mapped}) and all(one.num_parts > 1 for one in found.values())
            if are_same and mapped[0].startswith(STORES):
                return self._by_names(self.folder, found, texts, mapped, given)
            self._refuse_copies(found, mapped)
        if 2 * sum(map(is_drive, mapped)) <= len(mapped):
            folder, keys = build_keys(self.url, self.folder, self.options, texts, all_texts)
            good = [*dict.fromkeys(_good(keys.key, texts))][: _NUM_COUNTED if counting else None]
            bases = [""] if keys.absolute_only else list(dict.fromkeys([parent_of(self.path), ""]))
            for base in bases:
                paths = (path for key in good if f"{folder.url}/{(path := join(base, key))}" != self.url)
                existing = (path for path in paths if is_file(folder, path))
                if files := [*islice(existing, None if counting else 1)]:
                    return Placement(folder, "path", base, given, "", tuple(files), len(good) if counting else 1)
        if counting:
            texts, mapped = texts[:_NUM_COUNTED], mapped[:_NUM_COUNTED]
        start = self.folder if self.options.root is None else open_folder(self.options.root)
        above = parent_folder(start) if self.options.root is None else None
        if above is not None and all("/" in text.strip("/") for text in texts) and self._is_relative(mapped):
            files = [text for text in mapped if is_file(above, posixpath.normpath(text))]
            if files:
                remark = f"; its images were found in {printable(above.url)}"
                return Placement(above, "path", "", given, remark, tuple(files), len(texts))
        found = _found(start, [""], mapped)
        if not found and above is not None:
            own = start.url.rstrip("/").rpartition("/")[2]
            siblings = [name for name in folders_in(above) if name != own and _FOR_IMAGES.fullmatch(name)]
            found = _found(above, siblings, mapped)
            start = above if found else start
        return self._by_names(start, found, texts, mapped, given)

    def _is_relative(self, texts: Sequence[str]) -> bool:
        return 2 * sum(is_drive(text) or absolute_form(text) is not None for text in texts) <= len(texts)

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
        num_parts = max((len(_parts(text)) - one.num_parts for text, one in found.items()), default=0)
        are_all = len({*paths}) == len(paths) == len({*texts})
        is_moved = num_parts > 0
        is_relative, is_said = self._is_relative(texts), bool(self.options.path_prefix or self.options.root)
        is_refused = not are_all or (len(paths) == 1 if is_relative else is_said)
        if (is_moved and is_refused) or (not found and (self.options.path_prefix or not is_relative)):
            raise self._missing(folder, found, written, texts)
        if not found:
            return Placement(folder, strip=given, num_tried=len(texts))
        strip = given
        if is_moved and not is_relative:
            old = "/".join(shared_folder(texts)[:num_parts])
            strip = (*given, f"{old or '/'}=")
        folders = {path: _base(path, one.num_parts) for one in found.values() for path in one.paths}
        bases = list(dict.fromkeys(folders.values()))
        shared = [base for base in bases if all(base in map(folders.get, one.paths) for one in found.values())]
        if len(paths) > len(found) and len(bases) > 1 and shared:
            bases = [self._of_split(folder, bases, texts)]
        base = bases[0] if len(bases) == 1 else ""
        are_exact = all(
            posixpath.basename(path) == _parts(text)[-1] for text, one in found.items() for path in one.paths
        )
        is_path = len(bases) == 1 and are_exact and (strip != given or not is_moved)
        remark = self._remark(folder, bases, texts, found, are_exact=are_exact)
        if strip != given:
            remark = f"; paths that began with {old or '/'} are below {printable(join(folder.url, base))} now"
        return Placement(folder, "path" if is_path else None, base, strip, remark, tuple(paths), len(texts))

    def _remark(
        self, folder: Folder, bases: Sequence[str], texts: Sequence[str], found: Mapping[str, Found], *, are_exact: bool
    ) -> str:
        if [*bases] == [""]:
            inexact = "; images are found by names without endings or in another case, such as "
            return "" if are_exact else f"{inexact}{shown(next(iter(found.values())).paths[0])}"
        if len(bases) > _MAX_SHOWN:
            return f"; its images were found by their names in the folders below {printable(folder.url)}"
        places = ", ".join(printable(join(folder.url, base)) for base in bases)
        return f"; its images were found in {places}" + ", by names without endings or in another case" * (
            not are_exact
        )

    def _of_split(self, folder: Folder, bases: Sequence[str], texts: Sequence[str]) -> str:
        """Return the folder of the table's split, such as train/ for Training_set.csv; refuse folders of one name."""
        splits = [split_of_file(f"{base}/") for base in bases]
        split = split_of_file(self.path)
        if split is not None and None not in splits and splits.count(split) == 1:
            return bases[splits.index(split)]
        # train.csv more likely names images in train_images/ than in test_images/.
        words = re.findall("[a-z]+", posixpath.splitext(posixpath.basename(self.path))[0].lower())
        places = [join(folder.url, base) for base in bases]
        places.sort(key=lambda place: not any(word in place.rpartition("/")[2].lower() for word in words))
        choices = [Choice({"root": place}, f"the images are in {place.rpartition('/')[2]}/") for place in places]
        problem = f"{self.url}: image names of the table, such as {shown(texts[0])}, exist in {len(places)} folders"
        raise refuse(problem, self.url, choices[:_MAX_COMMANDS])

    def _refuse_copies(self, found: Mapping[str, Found], texts: Sequence[str]) -> None:
        """Refuse URLs of images that are next to a local table, too: the bucket may be out of reach."""
        if found:
            old, new = self._prefix(self.folder, found, texts)
            choices = [Choice({"path_prefix": (f"{old}={new}",)}, "the images are there")]
            if texts[0].startswith(STORES):
                choices.append(Choice({"root": old}, "the images are read from the bucket"))
            problem = f"{self.url}: its images are called {shown(texts[0])} and the like, and are in {new}, too"
            raise refuse(problem, self.url, choices)

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


def _parts(text: str) -> list[str]:
    return [*folder_parts(text), text.replace("\\", "/").rpartition("/")[2]]


def _base(path: str, num_parts: int) -> str:
    return "/".join(path.split("/")[:-num_parts])


def _good(key: Callable[[object], str], texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        with contextlib.suppress(BadRecord):
            yield key(text)


def _found(folder: Folder, places: Iterable[str], texts: Sequence[str]) -> dict[str, Found]:
    """Return the images that texts may name in some folders."""
    found: dict[str, Found] = {}
    for place in places:
        names = ImageNames(subfolder(folder, place) if place else folder, None)
        names.look_for(texts)
        for text in texts:
            if (one := names.find(text)) is not None:
                paths = [join(place, path) for path in one.paths]
                found[text] = one._replace(paths=[*(found[text].paths if text in found else ()), *paths])
    return found


def parent_folder(folder: Folder) -> Folder | None:
    """Return the folder above; None for the root of a disk, a bucket or an archive."""
    if not isinstance(folder, LocalFolder | RemoteFolder):
        return None
    above, _, name = folder.url.rstrip("/").rpartition("/")
    return open_folder(above) if name and above and not above.endswith("/") else None


def is_file(folder: Folder, path: str) -> bool:
    """Return whether a file exists; False too in a folder that may not be read."""
    try:
        entry = file_or_folder(folder, path)
    except MachineError as error:
        if isinstance(error.__cause__, PermissionError):
            return False
        raise
    return entry is not None and not entry.is_folder
