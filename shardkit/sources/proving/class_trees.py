"""Doubts about folders as classes: their form."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from shardkit.naming import first_of, printable, split_of_folder
from shardkit.sources.engine.splits import split_of_word, words_of
from shardkit.sources.proving.class_names import is_made, is_sheet, plain_name
from shardkit.sources.proving.evidence import Evidence
from shardkit.sources.proving.file_forms import END, unlike_in_files, views_of
from shardkit.sources.proving.image_contents import copied_classes, copies_apart
from shardkit.sources.readings.values import PathPart
from shardkit.sources.recognising.folders.folder_names import original_of
from shardkit.sources.recognising.folders.name_fields import form_of
from shardkit.sources.recognising.folders.split_folders import splits_of

_MAX_WORDS = 12  # that names begin with, of others each may be that of one image
_FEW = 10  # one in so many files is no accident
_MIN_COPIES = 3
_MIN_CODES, _MAX_CODES = 3, 8  # fields of names besides the class, and values of each
_DIGIT = re.compile(r"[0-9]")
_FIRST = re.compile(r"[\W\d_]")  # ends the first word of a name
_WORD = re.compile(r"[^\W\d_]{2,}")


def doubts_about_trees(found: Evidence, label: PathPart) -> Iterator[str]:
    """Yield why folders may not be the classes."""
    if label.map:
        yield "the names of classes would be changed"
    if not found.is_of_one_depth:
        yield "the images do not lie equally deep"
    inner = found.levels[label.path + 1 :][:1]
    pairs = zip(found.labels, *inner, strict=True) if inner else ()
    if (
        inner
        and all(len(name) == 1 for name in found.counts)
        and all(one is not None and name.lower().startswith(one.lower()) for one, name in pairs)
    ):
        yield "folders of one letter may only sort those in them"
    for _, names in found.unused_levels():
        yield f"folders such as {first_of(sorted({*map(printable, names)}), 3)} are another level"
    if found.are_single:
        yield "most classes have one image"
    yield from _about_splits(found)
    views = views_of(found.keys)
    yield from _about_words(found, has_views=bool(views))
    yield from _about_copies(found, views)
    # A class of one split alone has names of that split.
    if found.reading.split is None and (odd := unlike_in_files(found.labels, found.keys)):
        yield f"files of {first_of([*map(printable, odd)], 3)} are called unlike those of the other classes"
    for name in (copied := [*copied_classes(found)]):
        yield f"the files of {printable(name)} are copies of those of other classes"
    if not copied:
        yield from _about_pictures_apart(found)


def _about_pictures_apart(found: Evidence) -> Iterator[str]:
    """Yield that pictures are in two classes or splits, if they are many: a few are in most datasets."""
    copies = [*copies_apart(found)]
    for values, sizes in ((found.labels, found.counts), (found.splits, Counter(found.splits))) if copies else ():
        pairs = [pair for pair in copies if len({values[found.rows[path]] for path in pair}) > 1]
        counts = Counter(values[found.rows[path]] for pair in pairs for path in pair)
        if any(num >= _MIN_COPIES and _FEW * num >= sizes[value] for value, num in counts.items() if value):
            yield f"{printable(pairs[0][0])} and {printable(pairs[0][1])} are one picture"
            return


def _about_splits(found: Evidence) -> Iterator[str]:
    split = found.reading.split
    if split is None:
        return
    if isinstance(split, PathPart) and found.levels:
        names = sorted({*found.levels[split.path % len(found.levels)]})
        if odd := [name for name in names if not _is_split(name) and name not in splits_of(names)]:
            verb = "is no plain word for a split" if len(odd) == 1 else "are no plain words for splits"
            yield f"{first_of([*map(printable, odd)], 3)} {verb}"
        of_one = Counter(splits_of(names).values())
        if more := [name for name in names if of_one[splits_of(names).get(name, "")] > 1]:
            yield f"{first_of([*map(printable, more)], 3)} would be one split"
    if "train" not in found.splits:
        yield "no split is called train"
    elif found.is_whole:
        yield from _about_renamed(found)


def _about_renamed(found: Evidence) -> Iterator[str]:
    """Yield that a split has classes that train lacks, instead of as many of train's, as if they had another name.

    Names that are written in two ways, numbers, and splits that have little in common are for the check of the splits'
    classes, which can make them one.
    """
    classes = defaultdict[str | None, set[str]](set)
    for label, split in zip(found.labels, found.splits, strict=True):
        if label is not None:
            classes[split].add(label)
    trained = classes.pop("train", set())
    for split, names in classes.items():
        odd, missing = sorted(names - trained), trained - names
        if any(map(str.isdigit, "".join(odd))):
            continue
        are_few = len(odd) == len(missing) and 2 * len(names & trained) >= len(trained)
        if odd and are_few and {*map(plain_name, odd)}.isdisjoint(map(plain_name, missing)):
            of_train = first_of([*map(printable, sorted(missing))], 3)
            yield f"{first_of([*map(printable, odd)], 3)} of {split} may be {of_train} of train"


def _is_split(name: str) -> bool:
    """Return whether a name is a word for a split, maybe with a number: ``1_train``, ``validación``."""
    words = [word for word in words_of(name) if not word.isdigit()]
    return split_of_folder(name) is not None or (len(words) == 1 and split_of_word(words[0]) is not None)


def _about_words(found: Evidence, *, has_views: bool) -> Iterator[str]:
    """Yield that the names of files have words that divide the images otherwise; not those of views, a doubt itself."""
    fields = [*_fields(found)]
    if (num := _num_codes(found, fields)) >= _MIN_CODES:
        yield f"the names of files have {num} more fields, each of which may be the class"
    words = [_WORD.match(key.rpartition("/")[2].rpartition(".")[0]) for key in found.keys]
    texts = [word[0].lower() if word else "" for word in words]
    counts = Counter(texts)
    odd = sorted(filter(is_made, counts))
    if 0 < len(odd) < len(counts) and _FEW * sum(counts[word] for word in odd) >= len(texts):
        yield f"files whose names begin with {first_of(odd, 3)} may be made of other images"
    yield from _about_other_classes(found)
    stems = {key: key.rpartition("/")[2].rpartition(".")[0] for key in found.keys}
    sheets = sorted(key for key, stem in stems.items() if not _DIGIT.search(stem) and is_sheet(stem))
    if sheets and len(sheets) < len(found.keys) / 2:
        yield f"{first_of([*map(printable, sheets)], 2)} may be made of other images"
    if _divide_otherwise(found, texts):
        yield f"the names of files begin with {first_of(sorted(counts), 3)}, which divides them otherwise"
        return
    for values in () if has_views else fields:
        if all(map(_WORD.fullmatch, values)) and _divide_otherwise(found, values):
            yield f"the names of files have {first_of(sorted({*values}), 3)}, which divides them otherwise"
            return


def _divide_otherwise(found: Evidence, words: list[str]) -> bool:
    """Return whether few words, one of each example, divide the examples otherwise than classes and splits do."""
    counts = {*words}
    if not 1 < len(counts) <= min(_MAX_WORDS, len(words) / 3) or "" in counts:
        return False
    facts = [*zip(found.labels, found.splits, strict=True)]
    num_pairs = len({*zip(words, found.labels, strict=True)})
    return num_pairs > max(len(counts), len(found.counts)) and len({*zip(words, facts, strict=True)}) > len({*facts})


def _fields(found: Evidence) -> Iterator[list[str]]:
    """Yield the values of each field of files' names that repeats: one for each example, '' where it is not there."""
    names = [key.rpartition("/")[2] for key in found.keys]
    form = form_of(names)
    for field in form.repeating_fields([*filter(form.fits, names)]) if form is not None else ():
        yield [match[1].lower() if (match := re.search(field.pattern, name)) else "" for name in names]


def _about_other_classes(found: Evidence) -> Iterator[str]:
    """Yield that files of a class begin with the names of other classes, as in a folder of small copies of all."""
    named = {plain_name(name): name for name in found.counts}
    firsts = (_FIRST.split(key.rpartition("/")[2], maxsplit=1)[0] for key in found.keys)
    of_others = defaultdict[str, set[str]](set)
    for first, label in {*zip(firsts, found.labels, strict=True)}:
        begin = named.get(plain_name(first))
        if label is not None and begin is not None and begin != label:
            of_others[label].add(begin)
    if odd := sorted(label for label, names in of_others.items() if len(names) > 1):
        yield f"files of {first_of([*map(printable, odd)], 2)} are called like other classes"


def _num_codes(found: Evidence, fields: Sequence[Sequence[str]]) -> int:
    """Return the number of fields of files' names that have few values, and several in most classes."""
    num = 0
    for values in fields:
        num_pairs = len({*zip(values, found.labels, strict=True)})
        num += 2 * len(found.counts) <= num_pairs and len({*values}) <= _MAX_CODES
    return num


def _about_copies(found: Evidence, views: Sequence[str]) -> Iterator[str]:
    """Yield that files are called like copies, views or versions of others next to them."""
    stems = {key.rpartition(".")[0] for key in found.keys}
    if copies := sorted(stem for stem in stems if (of := original_of(stem)) and of in stems):
        verb = "is called like a copy of a file next to it" if len(copies) == 1 else "are called like copies of others"
        yield f"{first_of([*map(printable, copies)], 2)} {verb}"
    if views:
        yield f"the files of one name that end with {first_of([*map(printable, views)], 3)} may be of one thing"
    # mildew2_rot90.jpg next to mildew2.jpg
    ends = ((stem, end) for stem in stems for end in END.finditer(stem))
    versions = sorted({stem for stem, end in ends if stem[: end.start()] in stems})
    if versions and _FEW * len(versions) >= 2 * len(stems):
        yield f"{first_of([*map(printable, versions)], 2)} may be another version of a file next to it"
