"""Turn what the user gave into the options of the source and of the conversion, which check themselves."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from shardkit.arguments.checks import check_no_arrays, folder
from shardkit.conversion.planning.plan_file import find_planned
from shardkit.conversion.planning.rules import OVERRULED, inherit, refuse_other_rules
from shardkit.dataset.manifest import Manifest, Source, find_dataset, read_manifest
from shardkit.errors import CallError, ShardkitError
from shardkit.options.forms import Hashed
from shardkit.options.groups import OPTIONS, ConvertOptions
from shardkit.options.words import named
from shardkit.record_sources.datasets.key_files import Corrections, DropList, described
from shardkit.sources import SourceOptions
from shardkit.sources.given_files import files_refusal, pattern_refusal
from shardkit.sources.options import Remembered
from shardkit.sources.readings.given import EXPLICIT, given_reading
from shardkit.sources.readings.text import from_data
from shardkit.sources.readings.values import DETECTED, Reading
from shardkit.sources.recognising.several_sources import named_source
from shardkit.storage import open_folder


def location(what: str, path: str | os.PathLike[str]) -> str:
    """Return a path or URL as text."""
    if path == "":  # for example an undefined variable of a shell; not the working directory
        raise CallError(f"{what} may not be empty; for the working directory write .")
    return folder(what, path)


def absolute_location(path: str) -> str:
    """Return a path or URL that is the same for workers, which may have other working directories."""
    split, is_given, rest = path.partition("=")  # "train=PATH" gives the split of a source
    if not (is_given and split.isidentifier()):
        split, rest = "", path
    rest = rest if "://" in rest else os.path.abspath(os.path.expanduser(rest))
    return f"{split}={rest}" if split else rest


def source_locations(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return SOURCE, or all of several, as text."""
    several = _several(source)
    if not several:
        raise CallError("SOURCE may not be an empty list; give a folder, or several")
    return list(map(source_location, several))


def source_texts(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return SOURCE as the user wrote it, for the commands that are printed."""
    return tuple(one if one == "" else location("SOURCE", one) for one in _several(source))


def _several(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    check_no_arrays("SOURCE", source)
    return list(source) if isinstance(source, Iterable) and not isinstance(source, str) else [source]


def source_location(source: str | os.PathLike[str]) -> str:
    """Return SOURCE as text."""
    text = location("SOURCE", source)
    if refusal := pattern_refusal(text) or (None if _is_folder(text) else files_refusal([text])):
        raise refusal
    return text


def _is_folder(url: str) -> bool:
    found = open_folder(named_source(url).url).stat("")
    return found is None or found.is_folder  # a missing one is reported as missing


def conversion_values(
    source: str,
    given: Mapping[str, Any],
    say: Callable[[str], None],
    also: Sequence[str] = (),
    output: str | None = None,
) -> tuple[SourceOptions, ConvertOptions]:
    """Return the option values of a call; a dataset that is converted passes on its rules, about which `say` is told.

    `output` is the output folder, whose dataset or unfinished conversion may remember how the source is read.
    """
    source_options = _source_options(given, source, also, None if output is None else _remembered(output))
    manifests = _datasets(source, source_options)
    options, sentence = inherit(_without_hashed(given) | _hashed(source_options, manifests), manifests)
    if sentence is not None:
        say(sentence)
    return source_options, options


def option_values(given: Mapping[str, Any], source: str = "") -> tuple[SourceOptions, ConvertOptions]:
    """Return the option values of a call whose source is no dataset."""
    source_options = _source_options(given, source)
    return source_options, ConvertOptions.of(_without_hashed(given) | _hashed(source_options, ()))


def append_values(
    manifest: Manifest, source: str, given: Mapping[str, Any], also: Sequence[str] = ()
) -> tuple[SourceOptions, dict[str, Any]]:
    """Return the options of the source, and the rules that an append overrules."""
    of_source = {name: value for name, value in given.items() if name != "readmit"}
    remembered = _recalled(manifest.source, manifest.root.url, is_continued=False)
    source_options = _source_options(of_source, source, also, remembered)
    of_conversion = _without_hashed(given)
    changed = {name: value for name, value in of_conversion.items() if name in OVERRULED}
    if "splits" in changed:
        changed.setdefault("splits_of", ())
    refuse_other_rules(manifest, of_conversion, OVERRULED)
    return source_options, changed


def _without_hashed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the user gave, without those that a manifest has only a hash of."""
    if "splits" in given and given["splits"] is None and given.get("splits_of"):
        keeps, divides = named("splits", "own"), named("splits_of")
        raise CallError(f"{keeps} keeps all splits of SOURCE, and {divides} divides some; give one of them")
    return {name: value for name, value in given.items() if not isinstance(OPTIONS[name].form, Hashed)}


def _datasets(source: str, options: SourceOptions) -> list[Manifest]:
    """Return the manifests of the datasets that are converted; empty if the source is none."""
    if options.layout not in {None, "shardkit"} or options.reading is not None:
        return []
    if options.layout is None and not all(find_dataset(one) for one in (source, *options.also)):
        return []
    return [read_manifest(one) for one in (source, *options.also)]


def _hashed(options: SourceOptions, manifests: Sequence[Manifest]) -> dict[str, str]:
    """Return the options of which the manifest has a hash only, because they may name what is removed."""
    secret = ",".join(one.digest for one in manifests)
    hashed = {}
    if options.where is not None:
        hashed["where"] = described("1 condition", options.where, secret)
    if options.drop is not None:
        hashed["drop"] = options.drop.description(secret)
    if options.labels is not None:
        hashed["labels"] = options.labels.description(secret)
    return hashed


def _remembered(output: str) -> tuple[Reading, Remembered] | None:
    """Return how the source of a finished or unfinished conversion in a folder is read; None if it is not known."""
    try:
        manifest = find_dataset(output)
        if manifest is not None:
            # What was appended later may have been read in another way.
            return _recalled(manifest.history[0].source, manifest.root.url, is_continued=True)
        planned = find_planned(open_folder(output))
    except ShardkitError:  # who writes into the folder says what is wrong with it
        return None
    if planned is None or planned.source.reading is None:
        return None
    return from_data(planned.source.reading, output), Remembered(output, planned.source.layout, is_continued=True)


def _recalled(source: Source, url: str, *, is_continued: bool) -> tuple[Reading, Remembered] | None:
    if source.reading is None:
        return None
    tolerated = frozenset(kind for kind in source.skipped if kind.startswith("."))
    reading = from_data(source.reading, f"{url}/manifest.json")
    return reading, Remembered(url, source.layout, is_continued=is_continued, tolerated=tolerated)


def _source_options(
    given: Mapping[str, Any],
    source: str,
    also: Sequence[str] = (),
    remembered: tuple[Reading, Remembered] | None = None,
) -> SourceOptions:
    base, by = remembered or (None, None)
    if given.get("reading") == DETECTED:
        base, given = None, {name: value for name, value in given.items() if name != "reading"}
    # A layout that the user names, and a dataset, say themselves how they are read. Several sources are another tree.
    if base is not None and (also or given.get("layout") or find_dataset(source)):
        base = None
    # Who converts again and says where the labels come from says all of it: nothing stays ignored from another try.
    if by is not None and by.is_continued and any(given.get(name) for name in ("label", "boxes", "mask")):
        base = None
    reading = given_reading(given, base)
    if reading is not None:
        if base is None and find_dataset(source):
            what = named(next(name for name in EXPLICIT if given.get(name)))
            raise CallError(f"{source} is a dataset, which says how it is read; leave out {what}")
        kept = {name: given[name] for name in ("group_by", "readmit", "drop_repeated_boxes") if name in given}
        # What is ignored, and what images without annotation are, does not change how files are read.
        is_base = base is not None and replace(base, ignore=reading.ignore) == replace(
            reading, without_annotation=base.without_annotation
        )
        return SourceOptions(reading=reading, remembered=by if is_base else None, also=tuple(also), **kept)
    options = {one.name: given[one.name] for one in fields(SourceOptions) if one.name in given}
    if given.get("unlabelled"):
        if given.get("layout") not in {None, "unlabelled"}:
            both = named("unlabelled"), named("layout", given["layout"])
            raise CallError(f"{both[0]} is a layout, and so is {both[1]}; give one of them")
        options["layout"] = "unlabelled"
    for name, read in (("drop", DropList.of), ("labels", Corrections.of)):
        if name in options:
            options[name] = read(options[name])
    return SourceOptions(**options, also=tuple(also))
