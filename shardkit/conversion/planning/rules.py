"""The rules of a dataset: options that its later life keeps, in `append` and when it is converted again.

A conversion of a dataset that forgot them would write a dataset to which the next `append` adds every image at full
size, with its GPS position, into `train`. So a dataset that is converted passes its rules on, unless the user gives
others. Splits and groups of the examples are not made anew for this: the rule is only kept for what is appended later.

The options in a manifest may come from a stranger: they are read with a ManifestError in place of other errors.
"""

import functools
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError, ManifestError, ShardkitError
from shardkit.naming import MANIFEST, counted, printable
from shardkit.options.call import Change
from shardkit.options.definition import OPTIONS, Option, written_options
from shardkit.options.forms import Hashed
from shardkit.options.groups import ConvertOptions
from shardkit.options.values import AUTO_SCALE, HIGH_BITS
from shardkit.options.words import convert_again, named, words_of
from shardkit.record_sources.datasets.opening import may_be_divided
from shardkit.refusals import RefusalError
from shardkit.sources import SourceOptions

PLAN_VERSION_KEY = "plan_version"
_SPLITTING = {"splits", "splits_of"}

P = ParamSpec("P")
R = TypeVar("R")
# Numbers of shards are no rule: those of a dataset would be too many for a small part.
RULES = tuple(one.name for one in written_options().values() if one.rule is not None)
_OF_SIZE = ("fit", "mask_padding")
_SHOWN = 3  # datasets in a message
# Options that may differ for appended examples.
OVERRULED = (
    *(one.name for one in written_options().values() if one.rule == "changeable" or one.name == "shards"),
    "accept",
)


def reads_written_options(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a ManifestError in place of the errors that options of wrong types or values cause."""

    @functools.wraps(function)
    def reading(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, ShardkitError):
                raise  # a sentence for the user
            raise ManifestError(
                f"{MANIFEST}: its options are not those of a conversion ({type(error).__name__}: {error}); it was "
                f"changed, restore it or {convert_again()}"
            ) from None

    return reading


def read_written(one: Option[Any, Any], options: Mapping[str, Any]) -> Any:
    """Return the value of an option in the options of a manifest."""
    name = one.json_name or one.name
    return one.form.from_json(options[name]) if name in options else one.default


@reads_written_options
def options_text(options: Mapping[str, Any]) -> str:
    """Return the options that are not the defaults as words of a command, quoted for a shell; '' if all are.

    Shares that no conversion divided by, because the examples kept the splits of their dataset, are left out.
    """
    left_out = _SPLITTING if "kept_splits" in options else set()
    shown: list[str] = []
    for one in written_options().values():
        value = read_written(one, options)
        if one.name not in left_out and value != one.default:
            shown += words_of(one.name, shown_value(one, value))
    return shlex.join(shown)


def option_text(name: str, value: Any) -> str:
    """Return an option with its value as the user writes it."""
    return named(name, shown_value(OPTIONS[name], value))


def shown_value(one: Option[Any, Any], value: Any) -> Any:
    """Return the value of an option as users write it: a placeholder for what the manifest has only a hash of."""
    return one.form.placeholder if isinstance(one.form, Hashed) else value


@reads_written_options
def option_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a phrase for each option that differs: ``seed was 0 and is 1``; values as users write them."""
    said = []
    if before.get("appended_to") != after.get("appended_to"):
        said.append("the dataset has changed")
    if before.get("kept_splits") != after.get("kept_splits"):
        is_new = after.get("kept_splits") is None
        said.append("the examples are divided into splits anew" if is_new else "the examples keep their splits")
    for _, one in sorted(written_options().items()):
        values = [read_written(one, options) for options in (before, after)]
        is_resolved = values[1] == AUTO_SCALE and values[0] != HIGH_BITS  # planning compares the range itself
        if values[0] == values[1] or is_resolved:
            continue
        if isinstance(one.form, Hashed) and None not in values:
            said.append(f"{named(one.name)} has another {one.form.placeholder.lower()}")
        else:
            shown = [_said(one, value) for value in values]
            said.append(f"{named(one.name)} was {shown[0]} and is {shown[1]}")
    return said


def _said(one: Option[Any, Any], value: Any) -> str:
    if value is None or value is False or value in ([], ()):
        return "not given"
    return "given" if value is True or isinstance(one.form, Hashed) else one.form.text(value)


@reads_written_options
def rules_of(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules in the options of a manifest, by name: the inverse of `as_json`."""
    return {name: read_written(OPTIONS[name], written) for name in RULES}


def inherit(given: Mapping[str, Any], manifests: Sequence[Manifest]) -> tuple[ConvertOptions, str | None]:
    """Return the user's options with the rules of the datasets that are converted, and what is kept and changed.

    The sentence is None if the source is no dataset. Adopted datasets have no rules: those of the others hold, or the
    defaults.
    """
    ruling = [one for one in manifests if not one.is_adopted]
    if not ruling:
        return ConvertOptions.of(given), None
    every = [rules_of(one.options) for one in ruling]
    replaced = _replaced(given)
    fixed = {*given, *replaced}
    # Datasets that nothing divides have the default of their time, which divides nothing either.
    meaningless = set() if any(one["splits"] for one in every) else {"split_by"}
    differing = [
        name for name in RULES if name not in fixed | meaningless and any(one[name] != every[0][name] for one in every)
    ]
    if differing:
        raise _different_rules(differing, every, ruling)
    kept = {name: value for name, value in every[0].items() if name not in fixed}
    if "group_by" in given and all(given["group_by"] == one["group_by"] for one in every):
        kept["group_by"] = given["group_by"]  # the examples keep their groups, also those from a column
    made = {**given, **kept}
    kept_splits = "made" if all(map(may_be_divided, manifests)) else "own"
    keeps = kept.get("splits") is not None
    options = ConvertOptions.of(made, inherited=frozenset(kept), kept_splits=kept_splits if keeps else None)
    return options, _sentence(options, every, ruling)


def _replaced(given: Mapping[str, Any]) -> set[str]:
    """Return the rules that lose their meaning with those that the user gave."""
    replaced: set[str] = set()
    if given.get("resize") is not None or given.get("max_side") is not None:
        replaced |= {"size", *_OF_SIZE}
    if "size" in given:
        replaced |= {"resize", "max_side"} if given["size"] is not None else set(_OF_SIZE)
    if given.get("fit") == "crop":
        replaced.add("mask_padding")
    if "splits" in given or "splits_of" in given:
        replaced |= {"splits", "splits_of"}
    if "group_by" in given:
        replaced |= {"block"}
    return replaced.difference(given)


def _different_rules(
    differing: Sequence[str],
    every: Sequence[Mapping[str, Any]],
    manifests: Sequence[Manifest],
) -> CallError:
    """Return the error for datasets with different rules: all of them with their values, and a change for each."""
    urls = [printable(one.root.url) for one in manifests]
    texts = [_texts(differing, one) for one in every]
    shown = [f"{url} has {' '.join(words.values())}" for url, words in zip(urls, texts, strict=True)]
    problem = (
        f"the datasets have different rules, and the new one needs one value of each ({'; '.join(shown[:_SHOWN])}"
        f"{'; …' if len(shown) > _SHOWN else ''})"
    )
    can_divide = all(map(may_be_divided, manifests))
    changes: list[Change] = []
    for url, rules in zip(urls, every, strict=True):
        options = _as_options({name: rules[name] if name != "splits" or can_divide else None for name in differing})
        if options not in [one.options for one in changes]:
            changes.append(Change(f"the rules of {url}", options))
    return RefusalError(problem, changes)


def _as_options(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return rules as options of a call: the word for none overrules a rule."""
    return {
        name: OPTIONS[name].form.none if value is None else value
        for name, value in rules.items()
        if name != "splits_of"
    }


def _texts(names: Sequence[str], rules: Mapping[str, Any]) -> dict[str, str]:
    """Return rules as options; the source's own splits and no limit are options too."""
    return {name: option_text(name, rules[name]) for name in names if name != "splits_of" or rules[name]}


def _sentence(options: ConvertOptions, every: Sequence[Mapping[str, Any]], manifests: Sequence[Manifest]) -> str:
    """Return which rules of the datasets are kept and which are changed."""
    now = {name: options.value(name) for name in RULES}
    kept = [name for name in RULES if name in options.inherited and now[name] != OPTIONS[name].default]
    changed = [name for name in RULES if name not in options.inherited and any(now[name] != one[name] for one in every)]
    parts = [f"kept {' '.join(_texts(kept, now).values()) or 'the defaults'}"]
    if changed:
        before = f"{' '.join(_texts(changed, every[0]).values())} " if len(every) == 1 else ""
        parts.append(f"changed {before}to {' '.join(_texts(changed, now).values())}")
    urls = [printable(one.root.url) for one in manifests]
    where = ", ".join(urls) if len(urls) <= _SHOWN else counted(len(urls), "dataset")
    return f"rules of {where}: {', '.join(parts)}"


def refuse_other_rules(manifest: Manifest, given: Mapping[str, Any], overruled: Sequence[str]) -> None:
    """Refuse rules for appended examples that differ from those of their dataset."""
    rules = rules_of(manifest.options)
    other = [name for name in RULES if name in given and name not in overruled and given[name] != rules[name]]
    if not other:
        return
    before, wanted = (" ".join(_texts(other, one).values()) for one in (rules, given))
    dataset = manifest.root.url
    rules_given = _as_options({name: given[name] for name in other})
    problem = f"{printable(dataset)}: it was made with {before}, and {wanted} would give appended images another rule"
    raise RefusalError(
        problem,
        [
            Change("append by the dataset's rule", dict.fromkeys(rules_given)),
            Change(
                "a dataset with the new rule, to which you then append",
                rules_given,
                sources=(dataset,),
                command="convert",
                starts_anew=True,
            ),
        ],
    )


@reads_written_options
def generation_options(manifest: Manifest, changed: Mapping[str, Any]) -> ConvertOptions:
    """Return the options of an append: the rules of the dataset's first conversion, and what is changed."""
    values = {**rules_of(manifest.options), "name": manifest.name, **changed}
    return ConvertOptions.of(values, appended_to=manifest.digest, overruled=frozenset(changed))


def as_in_dataset(source_options: SourceOptions, options: ConvertOptions, manifest: Manifest) -> SourceOptions:
    """Return the options of a source that is read like the dataset's.

    The column of the dataset's groups is read, and whole numbers in a table are numbers of the dataset's classes; they
    are names if the classes are whole numbers themselves.
    """
    source_options = replace(source_options, group_by=options.splits.group_by)
    if not manifest.classes or all(name.removeprefix("-").isdecimal() for name in manifest.classes):
        return source_options
    return replace(source_options, classes=tuple(manifest.classes))
