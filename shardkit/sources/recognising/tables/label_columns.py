"""Find the columns of labels: by usual names if the values agree, or as one column for each class."""

import posixpath
import re
from collections.abc import Sequence

from shardkit.errors import CallError, DataError
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.engine.labels.kinds import ReadAll, decide_labels
from shardkit.sources.engine.labels.profile import (
    Profile,
    are_of_single_images,
    decide_indicators,
    indicator_columns,
    profile_of,
)
from shardkit.sources.engine.labels.reading import Labels
from shardkit.sources.formats.column_names import (
    LABEL_COLUMNS,
    LIKELY_LABEL_COLUMNS,
    named_like,
)
from shardkit.sources.formats.tables.opening import Choice, refuse
from shardkit.sources.formats.tables.records import Record, TableFile, enumerated
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.claims.captions import is_caption

_SAYS_LABEL = re.compile(r"[\w -]*(?:label|class|categor)[\w -]*", re.IGNORECASE)
_INVENTED = re.compile(r"column \d+")  # name of a column without a header
_MAX_CHOICES = 8  # commands of a refusal
_MIN_IMAGES = 2  # of each class on average: more different numbers are a quantity
_MOST = 0.9  # of the values
_MAX_PAIRS = 100_000  # different pairs of values in two columns that are compared


def find_labels(
    file: TableFile,
    prefix: Sequence[Record],
    image: int,
    taken: set[int | None],
    options: SourceOptions,
    read_all: ReadAll,
    source: str,
    *,
    is_asked: bool,
) -> Labels:
    """Decide which columns are labels, and how they are read; `is_asked`: a question has a reading for each column."""
    free = [i for i, name in enumerate(file.columns) if name and i != image and i not in taken]
    usual = [i for i in named_like(file.columns, LABEL_COLUMNS) if i in free]
    likely = [i for i in named_like(file.columns, LIKELY_LABEL_COLUMNS) if i in free and i not in usual]
    if not usual:  # category_label, super_class_id
        likely += [i for i in free if _SAYS_LABEL.fullmatch(file.columns[i]) and i not in likely]
    if len(usual) != 1 or likely:
        profiles = {i: profile_of(file, prefix, i) for i in [*usual, *likely]}
        agreeing = [i for i in profiles if profiles[i].may_be_label and _fits(profiles[i], options)]
        agreeing = _without_codes(agreeing, profiles, read_all)
        if len(agreeing) > 1:
            raise _several(file, agreeing, source)
        usual = agreeing or usual[:1]
    if usual:
        return decide_labels(file, prefix, (usual[0],), options, read_all, source)
    # One class a column, and nothing else that could be a label.
    if options.label_type != "number" and options.label_separator is None:
        indicators = indicator_columns(prefix, free)
        are_named = not all(_INVENTED.fullmatch(file.columns[i]) for i in indicators)
        if len(indicators) > 1 and len(indicators) == len(free) and are_named:
            labels = decide_indicators(file, prefix, indicators, options, read_all)
            if labels:
                return labels
    values = {i: [record.values[i] for record in prefix] for i in free}
    may_be = [
        i
        for i, some in values.items()
        if not _holds_captions(prefix, i) and not are_of_single_images(some) and not _repeats_names(prefix, image, i)
    ]
    profiles = {i: profile_of(file, prefix, i) for i in may_be}
    likely = [i for i, one in profiles.items() if one.num_distinct > 1 and one.may_be_label and _fits(one, options)]
    if len(likely) == 1 and are_classes(profiles[likely[0]]):  # and no other column may be the label
        return decide_labels(file, prefix, (likely[0],), options, read_all, source)
    error = _none(file, prefix, free, options, may_choose=bool(likely))
    names = [file.columns[i] for i, one in profiles.items() if one.may_be_label and _fits(one, options)]
    if is_asked or not names or (isinstance(error, RefusalError) and error.refusal.changes):
        raise error
    choices = [Choice({"label_columns": (name,)}, f"the label is in column {name!r}") for name in names]
    raise refuse(str(error), source, choices[:_MAX_CHOICES])


def are_classes(profile: Profile) -> bool:
    """Return whether a column holds a few names that repeat."""
    return profile.numbers.has_names and 1 < profile.num_distinct <= profile.num_present / _MIN_IMAGES


def _fits(profile: Profile, options: SourceOptions) -> bool:
    if options.label_type == "number":
        return not profile.numbers.has_names
    return options.label_separator is None or profile.numbers.has_names


def _without_codes(columns: list[int], profiles: dict[int, Profile], read_all: ReadAll) -> list[int]:
    """Return the columns without those that only repeat another one: the same values, or a number for each name."""
    kept: list[int] = []
    for column in sorted(columns, key=lambda i: not profiles[i].numbers.has_names):  # names first, otherwise in order
        for other in kept:
            pairs = set[tuple[str, str]]()
            for record in read_all(frozenset({column, other})):
                if record.problem is None:
                    pairs.add((str(record.values[column]), str(record.values[other])))
                if len(pairs) > _MAX_PAIRS:
                    break
            is_code = profiles[column].numbers.are_whole and profiles[other].numbers.has_names
            are_paired = len(pairs) == len({code for code, _ in pairs}) == len({name for _, name in pairs})
            if are_paired and len(pairs) <= _MAX_PAIRS and (is_code or all(code == name for code, name in pairs)):
                break
        else:
            kept.append(column)
    return [i for i in columns if i in kept]


def _several(file: TableFile, columns: Sequence[int], source: str) -> CallError:
    names = [file.columns[i] for i in columns]
    problem = f"{file.url}: the labels may be in column {' or '.join(map(repr, names[:_MAX_CHOICES]))}"
    choices = [Choice({"label_columns": (name,)}, f"the label is in column {name!r}") for name in names]
    return refuse(problem, source, choices[:_MAX_CHOICES])


def _none(
    file: TableFile, prefix: Sequence[Record], free: Sequence[int], options: SourceOptions, *, may_choose: bool
) -> CallError | DataError:
    """Return the error for a table without a column of a usual name; the question has a reading for each column."""
    listed = enumerated([repr(name) for name in file.columns if name])
    if not may_choose and (captions := [i for i in free if _holds_captions(prefix, i)]):
        shown_ = enumerated([repr(file.columns[i]) for i in captions])
        problem = f"{file.url}: a text of its own for each image is no class, as in column {shown_}"
        images = Change("images without labels", {"unlabelled": True}, sources=(options.root or file.folder.url,))
        return RefusalError(problem, [images])
    problem = f"{file.url}: none of the columns {listed} has a usual name for labels"
    remedy = f"name it with {named('label_columns')}"
    return RefusalError(problem, remedy=remedy) if may_choose else DataError(f"{problem}; {remedy}")


def _repeats_names(prefix: Sequence[Record], image: int, column: int) -> bool:
    """Return whether a column holds the name of each record's image: ``n02381460_4`` of ``trainA/n02381460_4.jpg``."""
    pairs = [(record.values[image], record.values[column]) for record in prefix]
    return all(
        isinstance(path, str)
        and isinstance(name, str)
        and name.strip() in {base := posixpath.basename(path.strip()), posixpath.splitext(base)[0]}
        for path, name in pairs
    )


def _holds_captions(prefix: Sequence[Record], column: int) -> bool:
    """Return whether a column holds sentences of which few repeat: an image may have several captions."""
    texts = [str(value) for record in prefix if (value := record.values[column]) not in (None, "")]
    num_captions = sum(map(is_caption, texts))
    return num_captions > _MOST * len(texts) and len(set(texts)) > len(texts) / 2
