"""Turn the arguments of `shardkit.convert` and `shardkit.plan` into option values that validate themselves."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shardkit.errors import CallError
from shardkit.option_values import CHOICES, check_choice

if TYPE_CHECKING:
    from shardkit.planning.options import ConvertOptions
    from shardkit.sources import SourceOptions


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


def option_values(given: Mapping[str, Any]) -> "tuple[SourceOptions, ConvertOptions]":
    """Return the option values of a call.

    Args:
        given: The arguments of `convert` or `plan`, by name; and `also`, further sources.

    Raises:
        CallError: An argument is wrong.
    """
    from dataclasses import fields

    from shardkit.images.stored.options import StoredForm
    from shardkit.images.stored.options import parse_size as parse_image_size
    from shardkit.naming import check_split_name, split_order
    from shardkit.planning.options import ConvertOptions
    from shardkit.planning.sizing import parse_shards, parse_size
    from shardkit.planning.splits.splitting import parse_ratios
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
    splits, shards, classes = given["splits"], given["shards"], given["classes"]
    if splits is not None:
        splits = {check_split_name(split): share for split, share in parse_ratios(_as_text(splits)).items()}
    splits_of = () if given["splits_of"] is None else given["splits_of"]
    if isinstance(splits_of, str):
        splits_of = splits_of.split(",")
    if shards is not None:
        shards = parse_shards(_as_text(shards))
        if isinstance(shards, dict):
            shards = {check_split_name(split): count for split, count in shards.items()}
    source_options = {field.name: given[field.name] for field in fields(SourceOptions) if field.name != "also"}
    if given["unlabelled"]:
        if given["layout"] not in {None, "unlabelled"}:
            msg = f"--unlabelled is a layout, and --layout is {given['layout']}; give one of them"
            raise CallError(msg)
        source_options["layout"] = "unlabelled"
    drop = None if given["drop"] is None else DropList.of(given["drop"])
    labels = None if given["labels"] is None else Corrections.of(given["labels"])
    options = ConvertOptions(
        name=given["name"],
        splits=splits,
        splits_of=tuple(split_order({check_split_name(split.strip()) for split in splits_of})),
        split_by=given["split_by"],
        shards=shards,
        shard_bytes=parse_size(str(given["shard_size"])),
        pipelines=given["input_pipelines"],
        seed=given["seed"],
        classes=classes if classes is None or isinstance(classes, tuple) else tuple(classes),
        **{one.name: given[one.name] for one in fields(StoredForm) if one.name != "size"},
        size=None if given["size"] is None else parse_image_size(_size_as_text(given["size"])),
        check=given["check"],
        group_by=given["group_by"],
        dedupe=given["dedupe"],
        where=given["where"],
        drop=None if drop is None else drop.description,
        labels=None if labels is None else labels.description,
    )
    source_options |= {name: tuple(given[name]) for name in ("label_columns", "path_prefix", "ignore")}
    source_options |= {"classes": options.classes, "drop": drop, "labels": labels, "also": tuple(given.get("also", ()))}
    return SourceOptions(**source_options), options


def _size_as_text(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _as_text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return ",".join(f"{name}={one}" for name, one in value.items()) if isinstance(value, Mapping) else str(value)
