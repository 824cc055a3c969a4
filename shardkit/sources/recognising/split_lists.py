"""Lay the lists and tables of splits in SOURCE over a source of any layout that has no split for some images."""

import fnmatch
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shardkit.options.call import Change
from shardkit.options.values import Match
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.split_columns import is_split_column, split_of_file, split_of_value
from shardkit.sources.file_names import stem_of
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.listing import Source
from shardkit.sources.name_index import written_path
from shardkit.sources.readings.paths import below
from shardkit.sources.readings.values import Annotation, Column, Listed
from shardkit.sources.recognising.claims.collecting import NamingFile
from shardkit.sources.recognising.claims.image_names import plain_word
from shardkit.sources.recognising.tables.layout import relative
from shardkit.sources.recognising.wrapped_source import innermost, replaced
from shardkit.sources.unlisted_images import NamedImages
from shardkit.sources.walking import is_within, join

_FIRST_WORD = r"(?P<image>\S+)(?:\s.*)?"
_BATCH_ROWS = 10_000
_MAX_FOLDS = 4  # that a refusal names


@dataclass(frozen=True, slots=True)
class SplitList:
    """A file that says which images belong to which split."""

    file: TableFile
    column: int  # the column that names the images
    split: str | None  # the split of all of them; None if a column says it
    split_column: int  # that column; -1 for none
    num_parts: int  # number of parts of the images' paths, from the end, by which they are compared
    has_ending: bool  # whether names have their ending

    def texts(self) -> Iterator[str]:
        """Yield what its records call the images."""
        for record in self.file.all_records():
            if record.problem is None and record.values[self.column] not in (None, ""):
                yield written_path(str(record.values[self.column]))

    def begin_of(self, path: str) -> str:
        """Return the part of a path that is not compared."""
        parts = path.split("/")
        return "/".join(parts[: -self.num_parts])

    def after(self, path: str) -> str:
        """Return the rest of a path."""
        return path[len(self.begin_of(path)) :].lstrip("/")


def divided_by_lists(source: Source, files: Sequence[NamingFile], opening: Opening) -> Source:
    """Return a source with the splits that lists in SOURCE give its images; the source itself if it has splits."""
    inner = innermost(source)
    if not (isinstance(inner, ReadingSource) and inner.tree.url.startswith(opening.folder.url)):
        return source
    if _has_splits(inner):
        return source
    above = _above(source, opening)
    used = [posixpath.join(above, file.path) for file in source.used_files]
    others = [one for one in files if not any(fnmatch.fnmatchcase(one.path, path) for path in used)]
    others = [one for one in others if _names_single_images(one, inner.images, above)]
    if inner.driver.names_images and others:
        examples = NamedImages(join(above, key) for key in inner.driver.keys(inner.folder))
        paths = {one.path: [path for found in one.found.values() for path in found.paths] for one in others}
        others = [one for one in others if examples.contain(paths[one.path]).any()]
    found = {one.path: made for one in others if (made := split_list(one, opening)) is not None}
    return _divided(source, inner, found, above, opening) if found else source


def _has_splits(source: ReadingSource) -> bool:
    """Return whether images have splits; files of boxes may give them by folders, and there may be none."""
    if not isinstance(source.value.split, Annotation):
        return source.value.split is not None
    tables = (one.table() for part in source.parts() for one in source.list_part(part, _BATCH_ROWS))
    return any(table["split"].null_count < table.num_rows for table in tables)


def _names_single_images(one: NamingFile, images: ImagePaths, above: str) -> bool:
    """Return whether the first records of a file name images of the source, and not several by one name."""
    named = [
        [
            path
            for path in found.paths
            if is_within(path, above) and not images.why_left_out(path[len(above) :].lstrip("/"))
        ]
        for found in one.found.values()
    ]
    return any(named) and all(len(paths) < 2 for paths in named)


def _above(source: Source, opening: Opening) -> str:
    """Return the path of the source's folder below SOURCE."""
    root, own = (f"{folder.url.rstrip('/')}/" for folder in (opening.folder, source.folder))
    return own[len(root) :].strip("/") if own.startswith(root) else ""


def split_list(one: NamingFile, opening: Opening) -> SplitList | None:
    """Return how a file gives splits; None if it does not, or gives labels."""
    if one.file is None or "submission" in one.path.lower():
        return None
    split = split_of_file(one.path)
    of_splits = split_columns(one)
    if split is None and not of_splits:
        return None
    # A column of splits means splits, whatever the others hold; train.csv may be there for its labels, unless
    # --layout class-folders says that the folders are the labels.
    if not of_splits and one.may_be_labels(own_columns(one)) and opening.options.layout != "class-folders":
        return None
    return SplitList(
        file=one.file,
        column=one.column,
        split=None if of_splits else split,
        split_column=of_splits[0] if of_splits else -1,
        num_parts=min(found.num_parts for found in one.found.values()),
        has_ending=one.form != "name without ending",
    )


def split_columns(one: NamingFile) -> list[int]:
    """Return the columns of splits."""
    if one.file is None:
        return []
    file = one.file
    return [i for i in one.others if is_split_column(file, i, [row[i] for row in one.rows])]


def own_columns(one: NamingFile) -> list[int]:
    """Return the columns that are no splits and do not repeat the folders of the images."""
    of_splits = split_columns(one)
    return [i for i in one.others if i not in of_splits and not repeats_folders(one, i)]


def repeats_folders(one: NamingFile, column: int) -> bool:
    """Return whether a column only repeats the folders of the images: each value has one folder, by name or number."""
    values = [str(one.rows[i][column]) for i in one.found]
    folders = [[plain_word(name) for name in found.paths[0].split("/")[:-1]] for found in one.found.values()]
    depth = min(map(len, folders))
    words = [plain_word(value) for value in values]
    if all(word in path for word, path in zip(words, folders, strict=True)):
        return bool(words)
    if not {*words}.isdisjoint(name for path in folders for name in path):  # corrections: cat/1.jpg,dog
        return False
    for level in range(1, depth + 1):
        pairs = {(value, path[-level]) for value, path in zip(values, folders, strict=True)}
        if len(pairs) > 1 and len(pairs) == len({value for value, _ in pairs}) == len({name for _, name in pairs}):
            return True
    return False


def _divided(source: Source, inner: ReadingSource, lists: dict[str, SplitList], above: str, opening: Opening) -> Source:
    splits = {path: one.split for path, one in lists.items()}
    chosen = without_whole(splits)
    given = [*chosen.values()]
    if len({*given}) < len(given) or (None in given and len(given) > 1):
        raise several_lists(opening, chosen)
    has_rest = None not in given and "train" not in given
    names_masks = inner.images.masks is not None
    origin = _origin([lists[path] for path in chosen], above, has_rest=has_rest, names_masks=names_masks)
    value = below(inner.value, relative(opening.folder, inner.tree))
    images = value.images if has_rest else replace(value.images, unnamed="ignore")
    reading = replace(value, images=images, split=origin)
    return replaced(source, open_reading(opening, reading, name=inner.name, is_strict=False, remark=inner.remark))


def _origin(lists: Sequence[SplitList], root: str, *, has_rest: bool, names_masks: bool) -> Listed | Column:
    """Return lists of splits as an origin."""
    first = lists[0]
    is_deep = any(one.num_parts > 1 for one in lists)
    match: Match = "end" if is_deep else "name" if first.has_ending and not names_masks else "stem"
    begins = {one.begin_of(text): one.after(text) for one in lists for text in one.texts()} if is_deep else {}
    begins = {join(begin, _shared(root, end)): end for begin, end in begins.items()}
    strip = tuple(f"{begin}=" for begin in sorted(begins, key=len, reverse=True) if begin.strip("/"))
    rest = "train" if has_rest else None
    columns = first.file.columns
    if first.split is not None:
        paths = {one.file.path: one.split or "" for one in lists}
        are_mixed = len({len(one.file.columns) for one in lists}) > 1  # one list has labels, and another has none
        key = columns[first.column] if len(columns) > 1 and not are_mixed else ""
        return Listed(paths, key, match, strip=strip, fold=True, rest=rest, lines=_FIRST_WORD if are_mixed else "")
    values = {one.values[first.split_column] for one in first.file.all_records() if one.problem is None}
    shown = sorted({*values} - {None}, key=str)  # the same in every run: the manifest stores the reading
    map_ = {str(value): split_of_value(value, columns[first.split_column]) for value in shown}
    return Column(
        (columns[first.split_column],),
        (first.file.path,),
        (columns[first.column],),
        match=match,
        strip=strip,
        fold=True,
        map=map_,
        rest=rest,
    )


def _shared(root: str, end: str) -> str:
    """Return the end of the root that a path begins with: below data/images, images/1.jpg is 1.jpg."""
    parts = root.split("/")
    tails = ("/".join(parts[i:]) for i in range(len(parts)))
    return next((tail for tail in tails if tail and end.startswith(f"{tail}/")), "")


def without_whole(lists: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return lists and their splits without ``trainval`` if there is a list for both of its parts."""
    stems = {path: stem_of(path).lower() for path in lists}
    whole = [path for path, stem in stems.items() if "trainval" in stem.replace("_", "").replace("-", "")]
    splits = {split for path, split in lists.items() if path not in whole}
    return {path: one for path, one in lists.items() if path not in whole or not {"train", "validation"} <= splits}


def several_lists(opening: Opening, lists: Mapping[str, str | None]) -> RefusalError:
    """Return the refusal of several lists for a split, such as those of folds, with the changes that read each fold."""

    def without(paths: Sequence[str], meaning: str) -> Change:
        globs = (*opening.options.ignore, *(f"/{path}" for path in paths))
        return Change(meaning, {"ignore": globs}, sources=(opening.url,))

    groups: dict[str, list[str]] = {}
    for path, split in lists.items():
        stem = posixpath.splitext(path)[0].lower()
        family = stem if split is None else "".join(part for part in stem if part.isdigit()) or stem
        groups.setdefault(family, []).append(path)
    commands = []
    for kept in list(groups.values())[:_MAX_FOLDS]:
        others = [path for path in lists if path not in kept]
        commands.append(without(others, f"the splits of {' and '.join(kept)}"))
    commands.append(without([*lists], "all images, without these splits"))
    shown = " and ".join([*lists][:2])
    problem = f"{opening.url}: {len(lists)} lists give splits, such as {shown}"
    remedy = f"hide those that do not divide the images with {named('ignore')}"
    return RefusalError(problem, commands, remedy=remedy)
