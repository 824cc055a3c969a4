"""Account for every file that names images: lay lists of splits over the source, and say which files are not used."""

import itertools
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shardkit.options.words import named
from shardkit.refusals import RefusalError, UnrecognisedError
from shardkit.sources.claims.captions import is_caption
from shardkit.sources.claims.claim import Claim
from shardkit.sources.claims.collecting import NamingFile, naming_files
from shardkit.sources.claims.files_of_images import claims_of_single_images, holds_boxes
from shardkit.sources.claims.image_names import ImageNames, plain_word
from shardkit.sources.context import Opening
from shardkit.sources.folders.source_place import SourcePlace
from shardkit.sources.listing import Source, ending
from shardkit.sources.recognising.listed_splits import ListedSplits, SplitList
from shardkit.sources.recognising.wrapped_source import WrappedSource
from shardkit.sources.tables.column_names import LABEL_COLUMNS, LIKELY_LABEL_COLUMNS, is_split, named_like
from shardkit.sources.tables.layout import Table
from shardkit.sources.tables.split_words import holds_splits, split_of_file
from shardkit.sources.unlisted_images import NamedImages

_COMPARED = 10_000  # keys at once
_MAX_FOLDS = 4  # that a refusal names


@dataclass(frozen=True, slots=True)
class AccountedSource(WrappedSource):
    """A source, and what the files next to its images claim.

    Attributes:
        found: The claims.
    """

    found: tuple[Claim, ...]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """See Source."""
        return self.found

    def undivided(self) -> Source:
        """See Source."""
        return replace(self, inner=self.inner.undivided())


def accounted(source: Source, opening: Opening) -> Source:
    """Return a source with the splits that lists in SOURCE give its images, and with the claims of all files.

    Args:
        source: The source, as it was recognised.
        opening: What the user opens.

    Raises:
        CallError: Several lists may give the splits; the message has the commands.
    """
    if source.label_files is None:
        return source
    names = ImageNames(opening.folder, opening.excluded, is_lazy=True)
    files = naming_files(opening.folder, opening.excluded, names)
    of_images = claims_of_single_images(opening.folder, opening.excluded, names)
    if not files and not of_images:
        return source
    used = set(source.label_files)
    if source.takes_splits:
        lists = {one.path: found for one in files if (found := _split_list(one, names, opening, used)) is not None}
        lists = {path: one for path, one in lists.items() if _names_some(one, source)}
        if lists:
            source = _divided(source, lists, opening)
            used = set(source.label_files or ())
    if source.label_files == () and opening.options.layout is None:
        _refuse_lost_boxes(of_images, opening)
    claims = [_claim(one, names, opening, source, used) for one in files]
    return AccountedSource(source.folder, source, (*claims, *of_images))


def _refuse_lost_boxes(claims: Sequence[Claim], opening: Opening) -> None:
    """Refuse to read folders as classes next to files of boxes that no layout reads.

    Raises:
        UnrecognisedError: There are some.
    """
    for claim in claims:
        if claim.gives == "unknown" and holds_boxes(opening.folder, claim.path):
            problem = f"{opening.url}: {claim.sentence} and may hold its boxes, but {claim.why}"
            remedy = "write them as one of the layouts in `shardkit help layouts`, or hide them with "
            remedy += f"{named('ignore', claim.glob)} if they hold no labels"
            raise UnrecognisedError(problem, remedy=remedy)


def _url(opening: Opening, path: str) -> str:
    return f"{opening.folder.url}/{path}"


def _split_list(one: NamingFile, names: ImageNames, opening: Opening, used: set[str]) -> SplitList | None:
    """Return how a file gives splits; None if it does not, or gives labels."""
    if one.file is None or _url(opening, one.path) in used or "submission" in one.path.lower():
        return None
    split = split_of_file(one.path)
    of_splits = _split_columns(one)
    if split is None and not of_splits:
        return None
    # A column of splits means splits, whatever the others hold; train.csv may be there for its labels, unless
    # --layout class-folders says that the folders are the labels.
    others = [i for i in one.others if i not in of_splits and not _repeats(one, i)]
    if not of_splits and _may_be_labels(one, others) and opening.options.layout != "class-folders":
        return None
    num_parts = min(found.num_parts for found in one.found.values())
    has_ending = one.form != "name without ending"
    if not names.tells_apart(num_parts, has_ending=has_ending):
        return None
    entry = opening.folder.stat(one.path)
    stamp = (entry.num_bytes, entry.mtime_ns) if entry else (0, 0)
    return SplitList(
        one.file,
        stamp,
        one.column,
        None if of_splits else split,
        of_splits[0] if of_splits else -1,
        num_parts,
        has_ending,
    )


def _split_columns(one: NamingFile) -> list[int]:
    """Return the columns of splits; a table may be sorted by them, so that its first records are all of one."""
    if one.file is None:
        return []
    found = []
    for i in one.others:
        values = [row[i] for row in one.rows]
        if not one.is_whole and len({str(value) for value in values}) == 1 and is_split(str(values[0])):
            values = [record.values[i] for record in one.file.all_records(frozenset({i})) if record.problem is None]
        if holds_splits(one.file.columns[i], values):
            found.append(i)
    return found


def _names_some(one: SplitList, source: Source) -> bool:
    """Return whether a list names some image of a table, and not only images without labels, as Kaggle's test.csv."""
    while isinstance(source, WrappedSource):
        source = source.inner
    if not isinstance(source, Table):
        return True
    named = NamedImages(end for ends in one.named().values() for end in ends)
    keys = source.all_keys()
    while some := list(itertools.islice(keys, _COMPARED)):
        if named.contain([one.end_of(key) for key in some]).any():
            return True
    return False


def _may_be_labels(one: NamingFile, others: Sequence[int]) -> bool:
    """Return whether some of the columns has a usual name for labels, or repeats as classes do."""
    columns = [one.file.columns[i] for i in others] if one.file is not None else []
    if named_like(columns, LABEL_COLUMNS) or named_like(columns, LIKELY_LABEL_COLUMNS):
        return True
    distinct = [len({str(row[i]) for row in one.rows}) for i in others]
    return any(1 < num < len(one.rows) for num in distinct)


def _repeats(one: NamingFile, column: int) -> bool:
    """Return whether a column only repeats the folders of the images: each value has one folder, by name or number."""
    values = [str(one.rows[i][column]) for i in one.found]
    folders = [[plain_word(name) for name in found.paths[0].split("/")[:-1]] for found in one.found.values()]
    depth = min(map(len, folders))
    words = [plain_word(value) for value in values]
    if all(word in path for word, path in zip(words, folders, strict=True)):
        return bool(words)
    for level in range(1, depth + 1):
        pairs = {(value, path[-level]) for value, path in zip(values, folders, strict=True)}
        if len(pairs) > 1 and len(pairs) == len({value for value, _ in pairs}) == len({name for _, name in pairs}):
            return True
    return False


def _divided(source: Source, lists: dict[str, SplitList], opening: Opening) -> Source:
    chosen = _without_whole(lists)
    by_split: dict[str, list[str]] = {}
    for path, one in chosen.items():
        by_split.setdefault(one.split or "", []).append(path)
    if any(len(paths) > 1 for paths in by_split.values()) or ("" in by_split and len(by_split) > 1):
        raise _several(chosen, opening)
    root = opening.folder.url.rstrip("/") + "/"
    above = source.folder.url.rstrip("/") + "/"
    above = above[len(root) :].strip("/") if above.startswith(root) else ""
    has_rest = "" not in by_split and "train" not in by_split
    return ListedSplits(source.folder, source, tuple(chosen.values()), above, has_rest)


def _without_whole(lists: dict[str, SplitList]) -> dict[str, SplitList]:
    """Return the lists without ``trainval`` if there is a list for both of its parts."""
    stems = {path: posixpath.splitext(posixpath.basename(path))[0].lower() for path in lists}
    whole = [path for path, stem in stems.items() if "trainval" in stem.replace("_", "").replace("-", "")]
    splits = {one.split for path, one in lists.items() if path not in whole}
    return {path: one for path, one in lists.items() if path not in whole or not {"train", "validation"} <= splits}


def _several(lists: dict[str, SplitList], opening: Opening) -> RefusalError:
    place = SourcePlace(opening.url, in_archive=opening.is_in_archive, ignored=opening.options.ignore)
    groups: dict[str, list[str]] = {}
    for path, one in lists.items():
        stem = posixpath.splitext(path)[0].lower()
        family = stem if one.split is None else "".join(part for part in stem if part.isdigit()) or stem
        groups.setdefault(family, []).append(path)
    commands = []
    for kept in list(groups.values())[:_MAX_FOLDS]:
        others = [path for path in lists if path not in kept]
        commands.append(place.without(others, f"the splits of {' and '.join(kept)}", files=True))
    commands.append(place.without(list(lists), "all images, without these splits", files=True))
    shown = " and ".join([*lists][:2])
    return RefusalError(f"{place.shown}: {len(lists)} lists give splits, such as {shown}", commands)


def _claim(one: NamingFile, names: ImageNames, opening: Opening, source: Source, used: set[str]) -> Claim:
    claim = one.claim(names)
    if _url(opening, one.path) in used:
        return replace(claim, is_used=True)
    kind = ending(one.path)
    if one.file is None:
        of_kind = {".json": "this JSON is no table", ".csv": "it has no header", ".tsv": "it has no header"}
        what = of_kind.get(kind, f"{kind} files are not read")
        return replace(claim, gives="unknown", why=f"{what}; write the names and what belongs to them as a CSV file")
    columns = one.file.columns
    of_splits = _split_columns(one)
    split = split_of_file(one.path)
    others = [i for i in one.others if i not in of_splits]
    if others and all(_repeats(one, i) for i in others) and not source.takes_splits:
        return replace(claim, gives="nothing", why="it repeats the names of the folders")
    if (split or of_splits) and not _may_be_labels(one, [i for i in others if not _repeats(one, i)]):
        why = "the source has splits without it"
        if source.takes_splits:
            why = "its images have no labels, or several have the same name"
        return replace(claim, gives="splits", why=why)
    if not others:
        return replace(claim, gives="nothing", why="it has only names, and its own name is not that of a split")
    what = "the labels come from the folders" if not source.label_files else "the labels come from another file"
    if all(is_caption(str(row[i])) for i in others for row in one.rows if row[i] not in {None, ""}):
        claim = replace(claim, gives="nothing")
    return replace(claim, why=f"{what}; its columns are {', '.join(map(repr, (columns[i] for i in others[:5])))}")
