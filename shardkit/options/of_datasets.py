"""The options that say what is made of a source, but for the two groups of `of_storage`."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

from shardkit.errors import CallError
from shardkit.image_limits import LARGEST_FILE_BYTES, MAX_FILE_BYTES
from shardkit.options.dataset_forms import Shares, SplitNames
from shardkit.options.definition import OPTIONS, Group, Option, written_options
from shardkit.options.forms import Bytes, Choice, Form, Identifier, Number, SeveralOf
from shardkit.options.of_sources import OF_NEW_DATASETS
from shardkit.options.values import (
    ACCEPTABLE,
    AUTO_SCALE,
    NO_RULE,
    OWN_SPLITS,
    Check,
    Dedupe,
    NoRule,
    SplitBy,
)
from shardkit.options.words import named

if TYPE_CHECKING:
    from shardkit.options.of_storage import Shards, Stored

KeptSplits = Literal["made", "own"]
MIN_BLOCK = 10  # numbers: of fewer, most would be next to a border


def _later() -> Any:
    from shardkit.options import of_storage  # its options come after these, in manifests and helps

    return of_storage


@dataclass(frozen=True)
class Splits(Group, argument="splits", heading="Splits"):
    """How examples are divided into splits."""

    splits: Option[Mapping[str, float] | Sequence[float] | str, Mapping[str, Fraction] | None] = Option(
        "shares: train=0.8,test=0.2, or 80/10/10 for train, validation and test, or 80/20 for train and "
        "validation; own keeps SOURCE's splits",
        form=Shares(none=OWN_SPLITS),
        default_text="SOURCE's, or all train",
        metavar="SHARES",
        rule="changeable",
        is_common=True,
    )
    _: KW_ONLY
    splits_of: Option[str | Sequence[str], tuple[str, ...]] = Option(
        "divide only this split of SOURCE by `splits`; its other splits stay",
        default=(),
        form=SplitNames(),
        metavar="SPLIT",
        rule="changeable",
    )
    split_by: Option[SplitBy, SplitBy] = Option(
        "stratified: every class gets its share, within one image (a few with several labels). hash: an image "
        "keeps its split when SOURCE is converted again with more images",
        default="stratified",
        form=Choice(words=get_args(SplitBy)),
        rule="fixed",
        is_common=True,
    )
    group_by: Option[str, str | None] = Option(
        "keep groups in one split: a table's column, or the first group of a regular expression on keys",
        form=Form(none=NO_RULE),
        metavar="COLUMN|REGEX",
        rule="changeable",
        is_common=True,
    )
    block: Option[int | NoRule, int | None] = Option(
        "with `group_by`: give splits to blocks of N consecutive numbers in the file names of a group, not to the "
        "group; at a border between splits, images within N/20 numbers are left out",
        form=Number(NO_RULE, low=MIN_BLOCK, high=1 << 40),
        default_text="whole groups",
        metavar="N",
        rule="changeable",
    )


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Group, heading="Run"):
    """Options that decide what is written. Workers, runner, progress and the reject limit do not."""

    name: Option[str, str] = Option(
        "name of the dataset",
        default="dataset",
        form=Identifier(),
        metavar="NAME",
        commands=OF_NEW_DATASETS,
    )
    seed: Option[int, int] = Option(
        "seed for splits and for the assignment to shards",
        default=0,
        heading="Splits",
        form=Number(),
        metavar="N",
        rule="fixed",
        is_common=True,
    )
    dedupe: Option[Dedupe, Dedupe] = Option(
        "identical and near-identical images: group keeps them in one split, identical does so with identical ones "
        "only, drop keeps the first, ignore keeps all",
        default="group",
        heading="Splits",
        form=Choice(words=get_args(Dedupe)),
        rule="fixed",
    )
    check: Option[Check, Check] = Option(
        "decode: read and decode every image before planning. header: open no image before writing",
        default="decode",
        heading="Images",
        form=Choice(words=get_args(Check)),
        rule="fixed",
    )
    max_file_size: Option[int | str, int] = Option(
        "larger image files and masks are rejected before they are read; at most 1GiB",
        default=MAX_FILE_BYTES,
        heading="Images",
        form=Bytes(high=LARGEST_FILE_BYTES),
        metavar="SIZE",
        json_name="max_file_bytes",
        rule="changeable",
    )
    # No rule, and not in a manifest: the images of an append are others, and so is what they lose.
    accept: Option[Sequence[str], tuple[str, ...]] = Option(
        "go on although a finding with this code stops the conversion; its message has the command",
        default=(),
        form=SeveralOf(words=tuple(ACCEPTABLE)),
        metavar="CODE",
        changes_bytes=False,
    )
    splits: Splits = Splits()  # how examples are divided into splits
    shards: "Shards" = field(default_factory=lambda: _later().Shards())  # into how many files each split is divided
    stored: "Stored" = field(default_factory=lambda: _later().Stored())  # how images are stored
    classes: tuple[str, ...] | None = None  # class names in label order; None to sort the source's names
    where: str | None = None  # number and sha256 of the condition on the examples of a dataset that is the source
    drop: str | None = None  # number and sha256 of the keys that are left out of it
    labels: str | None = None  # number and sha256 of the corrected labels
    # Digest of the manifest of the dataset that the examples are appended to; None for a new dataset.
    appended_to: str | None = None
    # Names of the options that are rules of the dataset that is converted; the user gave none of them.
    inherited: frozenset[str] = frozenset()
    overruled: frozenset[str] = frozenset()  # names of rules that the user gave in place of the dataset's
    # Whether the examples keep the splits that their dataset has, so that `splits` is only the rule for what is
    # appended later: ``made`` if `--splits` made all of them, ``own`` if some are a source's own. None if `splits`
    # divides the source.
    kept_splits: KeptSplits | None = None

    def __post_init__(self) -> None:
        self.stored.check_together()
        shares, divided = self.splits.splits, self.splits.splits_of
        if divided and shares is None:
            example = named("splits", "train=0.9,validation=0.1")
            raise CallError(f"{named('splits_of')} needs the shares to divide by, such as {example}")
        # With `splits_of`, the source's other splits are written too; kept splits may have any names.
        if shares is not None and not divided and self.kept_splits is None:
            self.shards.check_split_names(shares)
        for option, value in (("dedupe", "drop"), ("bit_depth", AUTO_SCALE)):
            if self.check == "header" and self.value(option) == value:
                needs, reads_none, reads = named(option, value), named("check", "header"), named("check", "decode")
                raise CallError(f"{needs} needs to know the contents, and {reads_none} reads none; give {reads}")

    @classmethod
    def of(cls, values: Mapping[str, Any], **others: Any) -> "ConvertOptions":
        """Return the options with these values.

        Args:
            values: Values of options by name; those that no conversion stores are left out.
            **others: Fields that are no options.
        """
        own = {one.name for one in fields(cls)}
        return cls().changed({name: one for name, one in values.items() if {name, OPTIONS[name].group} & own}, **others)

    def changed(self, values: Mapping[str, Any], **others: Any) -> "ConvertOptions":
        """Return the options with other values of some; see `of`."""
        of_groups: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            of_groups.setdefault(OPTIONS[name].group if hasattr(self, OPTIONS[name].group) else "", {})[name] = value
        own = of_groups.pop("", {})
        groups = {group: replace(getattr(self, group), **members) for group, members in of_groups.items()}
        return replace(self, **groups, **own, **others)

    def value(self, option: str) -> Any:
        """Return the value of an option, which may be one of a group."""
        return getattr(getattr(self, OPTIONS[option].group, self), option)

    def applied(self) -> "ConvertOptions":
        """Return the options without the rules that only examples which are appended later follow."""
        left_out = {"group_by", "block"} & self.inherited
        if self.kept_splits is not None:
            left_out |= {"splits", "splits_of"}
        return self.changed(dict.fromkeys(left_out), kept_splits=None) if left_out else self

    def as_json(self) -> dict[str, Any]:
        """Return the options as in the manifest and the fingerprint; the manifest stores `classes` separately."""
        of_rules = {name: one.form.as_json(self.value(one.name)) for name, one in written_options().items()}
        # Of appends, and of conversions of a dataset: no options.
        others = {"appended_to": self.appended_to, "kept_splits": self.kept_splits}
        return {**of_rules, **{name: value for name, value in others.items() if value is not None}}
