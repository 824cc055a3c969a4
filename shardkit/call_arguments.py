"""Turn the arguments of `shardkit.convert` and `shardkit.plan` into option values that validate themselves."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardkit.errors import CallError
from shardkit.option_values import CHOICES, NO_RULE, OWN_SPLITS, check_choice

if TYPE_CHECKING:
    from shardkit.dataset.manifest import Manifest
    from shardkit.planning.options import ConvertOptions
    from shardkit.sources import SourceOptions

_LIMITS = ("resize", "max_side", "mask_padding")


def location(what: str, path: str | os.PathLike[str]) -> str:
    """Return a path or URL as text.

    Args:
        what: Name of the argument, for the message.
        path: The path or URL.

    Raises:
        CallError: It is empty.
    """
    text = os.fspath(path)
    if not text:  # for example an undefined variable of a shell; not the working directory
        msg = f"{what} may not be empty; for the working directory write ."
        raise CallError(msg)
    return text


def source_locations(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return SOURCE, or all of several datasets, as text.

    Raises:
        CallError: There is none, or one cannot be a source; see `source_location`.
    """
    several = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if not several:
        msg = "SOURCE may not be an empty list; give a folder, or several datasets"
        raise CallError(msg)
    return list(map(source_location, several))


def source_location(source: str | os.PathLike[str]) -> str:
    """Return SOURCE as text.

    Raises:
        CallError: It is empty, a pattern of files, or an image file.
    """
    from shardkit.sources.several_sources import files_refusal, pattern_refusal

    text = location("SOURCE", source)
    if refusal := pattern_refusal(text) or (None if _is_folder(text) else files_refusal([text])):
        raise refusal
    return text


def _is_folder(url: str) -> bool:
    from shardkit.storage import open_folder

    found = open_folder(url).stat("")
    return found is None or found.is_folder  # a missing one is reported as missing


def conversion_values(
    source: str, given: Mapping[str, Any], say: "Callable[[str], None]"
) -> "tuple[SourceOptions, ConvertOptions]":
    """Return the option values of a call; a dataset that is converted passes on its rules.

    Args:
        source: SOURCE.
        given: See option_values.
        say: Receives a sentence about the rules of datasets.

    Raises:
        CallError: An argument is wrong, or several datasets have different rules.
        ManifestError: A dataset is damaged.
        MachineError: A dataset cannot be read.
    """
    from shardkit.planning.rules import inherit

    source_options, fields = _source_options(given), given_fields(given)
    manifests = _datasets(source, source_options)
    fields |= _hashed(source_options, manifests)
    found = inherit(fields, manifests)
    if found.sentence is not None:
        say(found.sentence)
    return source_options, found.options


def option_values(given: Mapping[str, Any]) -> "tuple[SourceOptions, ConvertOptions]":
    """Return the option values of a call whose source is no dataset.

    Args:
        given: The arguments of `convert` or `plan`, by name; and `also`, further sources.

    Raises:
        CallError: An argument is wrong.
    """
    from shardkit.planning.options import ConvertOptions

    source_options, fields = _source_options(given), given_fields(given)
    fields |= _hashed(source_options, ())
    return source_options, ConvertOptions(**fields)


def append_values(manifest: "Manifest", given: Mapping[str, Any]) -> "tuple[SourceOptions, dict[str, Any]]":
    """Return the options of the source, and the rules that an append overrules.

    Args:
        manifest: The dataset's manifest.
        given: The arguments of `append`, by name.

    Raises:
        CallError: An argument is wrong, or a rule differs from the dataset's.
    """
    from shardkit.planning.rules import refuse_other_rules
    from shardkit.writing.appending.options import OVERRULED

    of_convert = dict.fromkeys(("where", "drop", "labels", "classes"))
    of_source = {**of_convert, "key_prefix": False, **given, "readmit": False}
    source_options, fields = _source_options(of_source), given_fields(given)
    changed = {name: value for name, value in fields.items() if name in OVERRULED}
    if "splits" in changed:
        changed.setdefault("splits_of", ())
    refuse_other_rules(manifest, fields, OVERRULED)
    return source_options, changed


def _datasets(source: str, options: "SourceOptions") -> "list[Manifest]":
    """Return the manifests of the datasets that are converted; empty if the source is none."""
    from shardkit.dataset.manifest import find_dataset, read_manifest

    if options.layout not in {None, "shardkit"}:
        return []
    if options.layout is None and find_dataset(source) is None:
        return []
    return [read_manifest(one) for one in (source, *options.also)]


def _hashed(options: "SourceOptions", manifests: "Sequence[Manifest]") -> dict[str, str]:
    """Return the options of which the manifest has a hash only, because they may name what is removed."""
    from shardkit.sources.datasets.key_files import described

    secret = ",".join(one.digest for one in manifests)
    hashed = {}
    if options.where is not None:
        hashed["where"] = described("1 condition", options.where, secret)
    if options.drop is not None:
        hashed["drop"] = options.drop.description(secret)
    if options.labels is not None:
        hashed["labels"] = options.labels.description(secret)
    return hashed


def _source_options(given: Mapping[str, Any]) -> "SourceOptions":
    from shardkit.sources import SourceOptions
    from shardkit.sources.datasets.key_files import Corrections, DropList

    for argument in ("label_columns", "classes", "path_prefix", "ignore"):
        if isinstance(given[argument], str):
            msg = f"{argument} must be a list of names; found the text {given[argument]!r}; write [{given[argument]!r}]"
            raise CallError(msg)
    for argument in CHOICES:
        check_choice(argument, given[argument])
    level = given["class_level"]
    if isinstance(level, bool) or not isinstance(level, int) or level < 1:
        msg = f"--class-level must be a whole number from 1; found {level!r}"
        raise CallError(msg)
    options = {field.name: given[field.name] for field in fields(SourceOptions) if field.name != "also"}
    if given["unlabelled"]:
        if given["layout"] not in {None, "unlabelled"}:
            msg = f"--unlabelled is a layout, and --layout is {given['layout']}; give one of them"
            raise CallError(msg)
        options["layout"] = "unlabelled"
    options |= {name: tuple(given[name]) for name in ("label_columns", "path_prefix", "ignore")}
    options |= {
        "group_by": _value_of(given["group_by"]),
        "classes": None if given["classes"] is None else _names(given["classes"]),
        "drop": None if given["drop"] is None else DropList.of(given["drop"]),
        "labels": None if given["labels"] is None else Corrections.of(given["labels"]),
        "also": tuple(given.get("also", ())),
    }
    return SourceOptions(**options)


def given_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ConvertOptions that the user gave, without those that a manifest has a hash of.

    Args:
        given: Arguments of `convert`, `plan` or `append`, by name; None where the user gave none.

    Raises:
        CallError: An argument is wrong.
    """
    from shardkit.images.stored.options import StoredForm
    from shardkit.images.stored.options import parse_size as parse_image_size
    from shardkit.naming import check_split_name, split_order
    from shardkit.planning.sizing import parse_shards, parse_size
    from shardkit.planning.splits.splitting import parse_ratios

    _refuse_other_types(given)

    def parsed_splits(value: Any) -> dict[str, Fraction] | None:
        if value == OWN_SPLITS:
            return None
        return {check_split_name(split): share for split, share in parse_ratios(_as_text(value)).items()}

    def parsed_splits_of(value: Any) -> tuple[str, ...]:
        names = value.split(",") if isinstance(value, str) else value
        return tuple(split_order({check_split_name(split.strip()) for split in names}))

    def parsed_shards(value: Any) -> int | dict[str, int]:
        shards = parse_shards(_as_text(value))
        if isinstance(shards, dict):
            return {check_split_name(split): count for split, count in shards.items()}
        return shards

    if given.get("splits") == OWN_SPLITS and given.get("splits_of") is not None:
        msg = "--splits own keeps all splits of SOURCE, and --splits-of divides some; give one of them"
        raise CallError(msg)
    parsers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "name": ("name", _same),
        "splits": ("splits", parsed_splits),
        "splits_of": ("splits_of", parsed_splits_of),
        "split_by": ("split_by", _same),
        "shards": ("shards", parsed_shards),
        "shard_size": ("shard_bytes", lambda value: parse_size(str(value))),
        "input_pipelines": ("pipelines", int),
        "seed": ("seed", int),
        "classes": ("classes", _names),
        "check": ("check", _same),
        "max_file_size": ("max_file_bytes", lambda value: parse_size(str(value))),
        "group_by": ("group_by", _value_of),
        "dedupe": ("dedupe", _same),
        **{one.name: (one.name, _value_of if one.default is None else _same) for one in fields(StoredForm)},
        "size": ("size", lambda value: None if value == NO_RULE else parse_image_size(_size_as_text(value))),
    }
    return {
        field: parse(given[argument]) for argument, (field, parse) in parsers.items() if given.get(argument) is not None
    }


def _same(value: Any) -> Any:
    return value


def _value_of(value: Any) -> Any:
    return None if isinstance(value, str) and value == NO_RULE else value


def _refuse_other_types(given: Mapping[str, Any]) -> None:
    """Refuse numbers that are none: a text would be compared with numbers, or stored in the manifest.

    Raises:
        CallError: A value has another type.
    """
    for argument in ("seed", "input_pipelines", "quality", *_LIMITS):
        value = given.get(argument)
        if argument in _LIMITS and value == NO_RULE:
            continue
        if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
            other = f", or {NO_RULE!r}" if argument in _LIMITS else ""
            msg = f"{argument} must be a whole number{other}; found {value!r}"
            raise CallError(msg)
    if given.get("strip_metadata") not in {None, True, False}:
        msg = f"strip_metadata must be True or False; found {given['strip_metadata']!r}"
        raise CallError(msg)


def _names(value: Any) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else tuple(value)  # names of a file know its path


def _size_as_text(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _as_text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return ",".join(f"{name}={one}" for name, one in value.items()) if isinstance(value, Mapping) else str(value)
