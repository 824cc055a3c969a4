"""The permitted values of the conversion's options that are words, for type checkers and for messages."""

from typing import Any, Final, Literal, get_args

from shardkit.errors import CallError
from shardkit.host import this_host
from shardkit.layouts import Layout as Layout  # noqa: PLC0414 - next to the other types of options
from shardkit.spelling import closest

LabelType = Literal["auto", "class", "number"]
SplitBy = Literal["hash", "stratified"]
Dedupe = Literal["group", "drop", "ignore"]
Check = Literal["decode", "header"]
Fit = Literal["crop", "pad"]
Jpeg = Literal["keep", "baseline"]
Subsampling = Literal["4:2:0", "4:2:2", "4:4:4"]

NO_RULE: Final = "none"  # no limit, no groups: overrules the rule of a dataset that is converted
OWN_SPLITS: Final = "own"  # the value of `splits` that keeps the source's own splits
NoRule = Literal["none"]
# Defaults for sources that have no rules, because they are no datasets; for the help.
DEFAULT_RULES: dict[str, Any] = {
    "split_by": "hash",
    "dedupe": "group",
    "seed": 0,
    "shard_size": "128MiB",
    "input_pipelines": 1,
    "check": "decode",
    "max_file_size": "256MiB",
    "fit": "crop",
    "quality": 95,
    "jpeg": "keep",
}
# The rules of a dataset that appended images follow too.
RULE_ARGUMENTS = (
    *("split_by", "dedupe", "seed", "check", "resize", "max_side", "size", "fit", "mask_padding", "quality", "jpeg"),
    *("subsampling", "strip_metadata"),
)

# By the names of the arguments of `shardkit.convert`.
CHOICES: dict[str, tuple[str, ...]] = {
    "layout": get_args(Layout),
    "label_type": get_args(LabelType),
    "split_by": get_args(SplitBy),
    "dedupe": get_args(Dedupe),
    "check": get_args(Check),
    "fit": get_args(Fit),
    "jpeg": get_args(Jpeg),
    "subsampling": (*get_args(Subsampling), NO_RULE),
}


def check_choice(argument: str, value: str | None) -> None:
    """Check that a value is permitted, or None.

    Raises:
        CallError: It is not; the message suggests the nearest permitted value.
    """
    choices = CHOICES[argument]
    if value is None or value in choices:
        return
    close = closest(str(value), choices)
    hint = f"; did you mean {close!r}?" if close else ""
    msg = f"{argument} must be one of {', '.join(map(repr, choices))}; found {value!r}{hint}"
    raise CallError(msg)


def number_of_workers(workers: int | None) -> int:
    """Return the number of threads of this process.

    Args:
        workers: The number that the user gave; None for one per core that this process may use.

    Raises:
        CallError: It is below 1.
    """
    if workers is None:
        return this_host().threads
    if workers < 1:
        msg = f"--workers must be at least 1; found {workers}"
        raise CallError(msg)
    return workers
