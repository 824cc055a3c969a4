"""The options that say what is made of a source: splits, shards, stored images, and how the work runs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Literal, get_args

from shardkit.errors import CallError
from shardkit.image_limits import LARGEST_FILE_BYTES, MAX_FILE_BYTES
from shardkit.options.definition import OPTIONS, Group, Option, written_options
from shardkit.options.forms import (
    BitDepth,
    Bytes,
    Choice,
    Colour,
    Form,
    Identifier,
    ImageSize,
    Number,
    SeveralOf,
    ShardNumbers,
    Shares,
    Side,
    SplitNames,
    Switch,
)
from shardkit.options.of_sources import OF_NEW_DATASETS
from shardkit.options.values import (
    ACCEPTABLE,
    AUTO_SCALE,
    HIGH_BITS,
    NO_RULE,
    OWN_SPLITS,
    Check,
    Dedupe,
    Fit,
    Jpeg,
    NoRule,
    SplitBy,
    Subsampling,
)
from shardkit.options.words import named

KeptSplits = Literal["made", "own"]
DEFAULT_QUALITY = 95  # the quality of FFCV and of ImageNet's own resized copies
# TensorFlow's TFRecord tutorial: at least 10 files per reading host, each 10 MB or more and better 100 MB or more.
MIN_SHARD_BYTES = 10 << 20  # 10 MiB
TARGET_SHARD_BYTES = 128 << 20  # 128 MiB
MAX_SHARD_BYTES = 1 << 30  # 1 GiB
MAX_SIDE = 1 << 16  # pixels
MIN_BLOCK = 10  # numbers: of fewer, most would be next to a border
DEFAULT_MAX_REJECTED = "5%"


@dataclass(frozen=True)
class Splits(Group, argument="splits"):
    """How examples are divided into splits."""

    splits: Option[Mapping[str, float] | Sequence[float] | str, Mapping[str, Fraction] | None] = Option(
        "shares: train=0.8,test=0.2, or 80/10/10 for train, validation and test, or 80/20 for train and "
        "validation; own keeps SOURCE's splits",
        heading="Splits",
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
        heading="Splits",
        form=SplitNames(),
        metavar="SPLIT",
        rule="changeable",
    )
    split_by: Option[SplitBy, SplitBy] = Option(
        "stratified: every class gets its share, within one image (a few with several labels). hash: an image "
        "keeps its split when SOURCE is converted again with more images",
        default="stratified",
        heading="Splits",
        form=Choice(words=get_args(SplitBy)),
        rule="fixed",
        is_common=True,
    )
    group_by: Option[str, str | None] = Option(
        "keep groups in one split: a table's column, or the first group of a regular expression on keys",
        heading="Splits",
        form=Form(none=NO_RULE),
        metavar="COLUMN|REGEX",
        rule="changeable",
        is_common=True,
    )
    block: Option[int | NoRule, int | None] = Option(
        "with `group_by`: give splits to blocks of N consecutive numbers in the file names of a group, not to the "
        "group; at a border between splits, images within N/20 numbers are left out",
        heading="Splits",
        form=Number(NO_RULE, low=MIN_BLOCK, high=1 << 40),
        default_text="whole groups",
        metavar="N",
        rule="changeable",
    )


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Group):
    """Options that decide what is written. Workers, runner, progress and the reject limit do not.

    Attributes:
        splits: How examples are divided into splits.
        shards: Into how many files each split is divided.
        stored: How images are stored.
        classes: Class names in label order; None to sort the source's names.
        where: Number and sha256 of the condition on the examples of a dataset that is the source.
        drop: Number and sha256 of the keys that are left out of it.
        labels: Number and sha256 of the corrected labels.
        appended_to: Digest of the manifest of the dataset that the examples are appended to; None for a new dataset.
        inherited: Names of the options that are rules of the dataset that is converted; the user gave none of them.
        overruled: Names of rules that the user gave in place of the dataset's.
        kept_splits: Whether the examples keep the splits that their dataset has, so that `splits` is only the rule for
            what is appended later: ``made`` if `--splits` made all of them, ``own`` if some are a source's own. None if
            `splits` divides the source.
    """

    name: Option[str, str] = Option(
        "name of the dataset",
        default="dataset",
        heading="Run",
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
        heading="Run",
        form=SeveralOf(words=tuple(ACCEPTABLE)),
        metavar="CODE",
        changes_bytes=False,
    )
    splits: Splits = Splits()
    shards: "Shards" = field(default_factory=lambda: Shards())  # noqa: PLW0108 - defined below
    stored: "Stored" = field(default_factory=lambda: Stored())  # noqa: PLW0108
    classes: tuple[str, ...] | None = None
    where: str | None = None
    drop: str | None = None
    labels: str | None = None
    appended_to: str | None = None
    inherited: frozenset[str] = frozenset()
    overruled: frozenset[str] = frozenset()
    kept_splits: KeptSplits | None = None

    def __post_init__(self) -> None:
        self.stored.check_together()
        shares, divided = self.splits.splits, self.splits.splits_of
        if divided and shares is None:
            example = named("splits", "train=0.9,validation=0.1")
            msg = f"{named('splits_of')} needs the shares to divide by, such as {example}"
            raise CallError(msg)
        # With `splits_of`, the source's other splits are written too; kept splits may have any names.
        if shares is not None and not divided and self.kept_splits is None:
            self.shards.check_split_names(shares)
        for option, value in (("dedupe", "drop"), ("bit_depth", AUTO_SCALE)):
            if self.check == "header" and self.value(option) == value:
                needs, reads_none, reads = named(option, value), named("check", "header"), named("check", "decode")
                msg = f"{needs} needs to know the contents, and {reads_none} reads none; give {reads}"
                raise CallError(msg)

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


@dataclass(frozen=True)
class Shards(Group, argument="shards"):
    """Into how many files each split is divided."""

    shards: Option[int | Mapping[str, int] | str, int | Mapping[str, int] | None] = Option(
        "shards of every split, or train=64,validation=8",
        heading="Shards",
        form=ShardNumbers(),
        default_text="by size",
        metavar="N",
        json_name="shards",
        is_common=True,
    )
    _: KW_ONLY
    shard_size: Option[int | str, int] = Option(
        "target size of a shard, 10MiB to 1GiB",
        default=TARGET_SHARD_BYTES,
        heading="Shards",
        form=Bytes(low=MIN_SHARD_BYTES, high=MAX_SHARD_BYTES),
        metavar="SIZE",
        json_name="shard_bytes",
        rule="changeable",
    )
    input_pipelines: Option[int, int] = Option(
        "input pipelines that will read; the number of shards is a multiple of it",
        default=1,
        heading="Shards",
        form=Number(low=1, high=1 << 16),
        metavar="N",
        json_name="pipelines",
        rule="changeable",
    )

    def of_split(self, split: str) -> int | None:
        """Return the number of shards of a split that was given; None to choose it."""
        return self.shards.get(split) if isinstance(self.shards, Mapping) else self.shards

    def check_split_names(self, names: Collection[str]) -> None:
        """Check that `shards` names only splits that are written.

        Args:
            names: Names of the splits that are written.

        Raises:
            CallError: It names another split.
        """
        unknown = sorted(set(self.shards) - set(names)) if isinstance(self.shards, Mapping) else []
        if unknown:
            msg = f"{named('shards')} names the split {unknown[0]!r}; the conversion writes {', '.join(names)}"
            raise CallError(msg)


@dataclass(frozen=True, kw_only=True)
class Stored(Group, argument="stored"):
    """How images are stored. The defaults keep the bytes of every JPEG and PNG that TensorFlow decodes as it is."""

    resize: Option[int | NoRule, int | None] = Option(
        "reduce the shorter side to N pixels; never enlarge",
        heading="Images",
        form=Side(NO_RULE, low=1, high=MAX_SIDE),
        default_text="sizes are kept",
        metavar="N",
        rule="fixed",
        is_common=True,
    )
    max_side: Option[int | NoRule, int | None] = Option(
        "reduce the longer side to N pixels; never enlarge",
        heading="Images",
        form=Side(NO_RULE, low=1, high=MAX_SIDE),
        default_text="sizes are kept",
        metavar="N",
        rule="fixed",
    )
    size: Option[str | tuple[int, int], tuple[int, int] | None] = Option(
        "give every image this size in pixels, such as 256x320, also by enlarging; see `fit`",
        heading="Images",
        form=ImageSize(NO_RULE, max_side=MAX_SIDE),
        default_text="sizes are kept",
        metavar="HEIGHTxWIDTH",
        rule="fixed",
        is_common=True,
    )
    fit: Option[Fit, Fit] = Option(
        "with `size`: crop cuts off what is beyond the edges; pad adds a black border",
        default="crop",
        heading="Images",
        form=Choice(words=get_args(Fit)),
        rule="fixed",
    )
    mask_padding: Option[int | NoRule, int | None] = Option(
        "class number of the border that `fit=pad` adds to masks, such as 255 for 'no class'",
        heading="Images",
        form=Number(NO_RULE, low=0, high=255),
        metavar="N",
        rule="fixed",
    )
    quality: Option[int, int] = Option(
        "quality of JPEGs whose pixels change, 1 to 100; above 95 only size grows",
        default=DEFAULT_QUALITY,
        heading="Images",
        form=Number(low=1, high=100),
        metavar="N",
        rule="fixed",
    )
    jpeg: Option[Jpeg, Jpeg] = Option(
        "baseline: re-encode progressive JPEGs, which decode slowly, with their own tables. keep: leave them",
        default="keep",
        heading="Images",
        form=Choice(words=get_args(Jpeg)),
        rule="fixed",
    )
    subsampling: Option[Subsampling | NoRule, Subsampling | None] = Option(
        "re-encode JPEGs that have more chroma samples than this, with their own tables",
        heading="Images",
        form=Choice(NO_RULE, words=get_args(Subsampling)),
        rule="fixed",
    )
    bit_depth: Option[str, str] = Option(
        "images with 16 bits a channel: high keeps the high 8 bits. scale=LOW:HIGH maps these samples to black and "
        "white in all of them, scale=auto those that they use",
        default=HIGH_BITS,
        heading="Images",
        form=BitDepth(),
        metavar="high|scale=LOW:HIGH|scale=auto",
        rule="fixed",
    )
    background: Option[str | NoRule, str | None] = Option(
        "flatten images with alpha with this colour: white, black, gray or #RRGGBB",
        heading="Images",
        form=Colour(NO_RULE),
        default_text="alpha is kept",
        metavar="COLOUR",
        rule="fixed",
    )
    strip_metadata: Option[bool, bool] = Option(
        "remove EXIF with GPS positions, comments and thumbnails; colour profiles stay",
        default=False,
        heading="Images",
        form=Switch(),
        off_flag="--keep-metadata",
        rule="fixed",
    )

    @property
    def has_open_scale(self) -> bool:
        """Whether planning finds the range of samples that becomes black and white."""
        return self.bit_depth == AUTO_SCALE

    @property
    def scale(self) -> tuple[int, int] | None:
        """The samples of 16 bits that become black and white; None if the high 8 bits are kept."""
        if self.bit_depth == HIGH_BITS:
            return None
        low, high = map(int, self.bit_depth.removeprefix("scale=").split(":"))
        return low, high

    @property
    def keeps_sizes(self) -> bool:
        """Whether no option changes the size of an image."""
        return self.resize is None and self.max_side is None and self.size is None

    def check_together(self) -> None:
        """Check that the options go together. Those that the user gives may need the rules of a dataset.

        Raises:
            CallError: Two do not.
        """
        for option, value in (("resize", self.resize), ("max_side", self.max_side)):
            if value is not None and self.size is not None:
                msg = f"{named('size')} sets both sides, and {named(option, value)} one of them; give one of them"
                raise CallError(msg)
        if self.size is None:
            for option, given in (("fit", self.fit == "pad"), ("mask_padding", self.mask_padding is not None)):
                if given:
                    shown = named("fit", "pad") if option == "fit" else named(option)
                    example = named("size", "256x320")
                    msg = f"{shown} needs the size of the stored images, such as {example} (height x width)"
                    raise CallError(msg)
        if self.mask_padding is not None and self.fit != "pad":
            padding, adds = named("mask_padding"), named("fit", "pad")
            msg = f"{padding} is the class number of a border, and only {adds} adds one; leave it out"
            raise CallError(msg)


@dataclass(frozen=True, kw_only=True)
class RunArguments(Group):
    """How the conversion runs; none of them changes a byte."""

    max_rejected: Option[int | float | str, int | float | str] = Option(
        "maximum number or share of rejected images: 20, 5% or 0.05",
        default=DEFAULT_MAX_REJECTED,
        heading="Images",
        metavar="LIMIT",
        changes_bytes=False,
        is_common=True,
    )
    skip_existing: Option[bool, bool] = Option(
        "leave out images that DATASET has, instead of refusing them",
        default=False,
        heading="Run",
        form=Switch(),
        commands=("append",),
    )
    overwrite: Option[bool, bool] = Option(
        "replace a different dataset in OUTPUT; append discards an unfinished append of another source",
        default=False,
        heading="Run",
        form=Switch(),
        changes_bytes=False,
        is_common=True,
        commands=("convert", "append"),
    )
    workers: Option[int, int | None] = Option(
        "threads in this process, without a runner of Beam",
        heading="Run",
        form=Number(low=1, high=1 << 16),
        default_text="all cores",
        metavar="N",
        changes_bytes=False,
        is_common=True,
    )
