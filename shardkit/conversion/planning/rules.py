"""The rules of a dataset: options that its later life keeps, in `append` and when it is converted again.

A conversion of a dataset that forgot them would write a dataset to which the next `append` adds every image at full
size, with its GPS position, into `train`. So a dataset that is converted passes its rules on, unless the user gives
others. Splits and groups of the examples are not made anew for this: the rule is only kept for what is appended later.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shardkit.conversion.planning.options_text import option_text, read_written, reads_written_options
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError
from shardkit.naming import counted, printable
from shardkit.options.call import Change
from shardkit.options.definition import OPTIONS, written_options
from shardkit.options.groups import ConvertOptions
from shardkit.record_sources.datasets.opening import may_be_divided
from shardkit.refusals import RefusalError

# Numbers of shards are no rule: those of a dataset would be too many for a small part.
RULES = tuple(one.name for one in written_options().values() if one.rule is not None)
_OF_SIZE = ("fit", "mask_padding")
_SHOWN = 3  # datasets in a message


@reads_written_options
def rules_of(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules in the options of a manifest, by name: the inverse of `as_json`."""
    return {name: read_written(OPTIONS[name], written) for name in RULES}


def inherit(given: Mapping[str, Any], manifests: Sequence[Manifest]) -> tuple[ConvertOptions, str | None]:
    """Return the user's options with the rules of the datasets that are converted, and what is kept and changed.

    There is no such sentence if the source is no dataset.

    Adopted datasets have no rules: those of the others hold, or the defaults.
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
