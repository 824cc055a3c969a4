"""Lay the lists and tables of splits in SOURCE over a source of any layout that has no split for some images."""

import fnmatch
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.splits import is_split_column, split_of_file, split_of_value
from shardkit.sources.listing import Source
from shardkit.sources.options import Opening
from shardkit.sources.readings.values import Annotation, Column, Listed, reading_below
from shardkit.sources.recognising.claims.collecting import NamingFile
from shardkit.sources.recognising.claims.image_names import plain_word
from shardkit.sources.recognising.tables.layout import relative
from shardkit.sources.recognising.tables.places import naming_of
from shardkit.sources.recognising.wrapped_source import innermost, replaced
from shardkit.sources.unlisted_images import NamedImages
from shardkit.sources.walking import is_within, join, stem_of

_FIRST_WORD = r"(?P<image>\S+)(?:\s.*)?"
_BATCH_ROWS = 10_000
_MAX_FOLDS = 4  # that a refusal names


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
    lists = [one for one in others if gives_splits(one, opening)]
    return _divided(source, inner, lists, above, opening) if lists else source


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


def gives_splits(one: NamingFile, opening: Opening) -> bool:
    """Return whether a file is there for splits: by its name or a column, and not for labels."""
    if one.file is None or "submission" in one.path.lower():
        return False
    # A column of splits means splits, whatever the others hold; train.csv may be there for its labels, unless
    # --layout class-folders says that the folders are the labels.
    has_labels = one.may_be_labels(own_columns(one)) and opening.options.layout != "class-folders"
    return bool(split_columns(one)) or (split_of_file(one.path) is not None and not has_labels)


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


def _divided(source: Source, inner: ReadingSource, lists: list[NamingFile], above: str, opening: Opening) -> Source:
    splits = {one.path: None if split_columns(one) else split_of_file(one.path) for one in lists}
    chosen = without_whole(splits)
    given = [*chosen.values()]
    if len({*given}) < len(given) or (None in given and len(given) > 1):
        raise several_lists(opening, chosen)
    has_rest = None not in given and "train" not in given
    value = reading_below(inner.value, relative(opening.folder, inner.tree))
    origin = _origin(lists, chosen, above, rest="train" if has_rest else None)
    if inner.images.masks is not None and not origin.strip:
        origin = replace(origin, match="stem")  # lists may name the masks
    images = value.images if has_rest else replace(value.images, unnamed="ignore")
    reading = replace(value, images=images, split=origin)
    return replaced(source, open_reading(opening, reading, name=inner.name, is_strict=False, remark=inner.remark))


def _origin(
    lists: Sequence[NamingFile], splits: Mapping[str, str | None], above: str, rest: str | None
) -> Listed | Column:
    """Return lists, or a table with a column of splits, as an origin; how they name images the engine finds out."""
    lists = [one for one in lists if one.path in splits]
    first = lists[0]
    strip = naming_of({text: found for one in lists for text, found in one.named.items()}, above).strip
    of_splits = split_columns(first)
    if not of_splits:
        are_mixed = len({len(one.titles) for one in lists}) > 1  # one list has labels, and another has none
        key = first.titles[first.column] if len(first.titles) > 1 and not are_mixed else ""
        paths = {path: split or "" for path, split in splits.items()}
        return Listed(paths, key, strip=strip, rest=rest, lines=_FIRST_WORD if are_mixed else "")
    column = of_splits[0]
    title = first.titles[column]
    records = first.file.all_records(frozenset({column})) if first.file is not None else ()
    values = {str(one.values[column]) for one in records if one.problem is None and one.values[column] is not None}
    map_ = {value: split_of_value(value, title) for value in sorted(values)}  # the manifest stores the reading
    return Column((title,), (first.path,), (first.titles[first.column],), strip=strip, map=map_, rest=rest)


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
