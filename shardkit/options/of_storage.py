"""The options that say how images are stored and into how many files, and how the work runs."""

from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import get_args

from shardkit.errors import CallError
from shardkit.options.dataset_forms import BitDepth, Colour, ImageSize, ShardNumbers
from shardkit.options.definition import Group, Option
from shardkit.options.forms import Bytes, Choice, Number, Side, Switch
from shardkit.options.values import (
    AUTO_SCALE,
    HIGH_BITS,
    NO_RULE,
    Fit,
    Jpeg,
    NoRule,
    Subsampling,
)
from shardkit.options.words import named

DEFAULT_QUALITY = 95  # the quality of FFCV and of ImageNet's own resized copies
# TensorFlow's TFRecord tutorial: at least 10 files per reading host, each 10 MB or more and better 100 MB or more.
MIN_SHARD_BYTES = 10 << 20  # 10 MiB
TARGET_SHARD_BYTES = 128 << 20  # 128 MiB
MAX_SHARD_BYTES = 1 << 30  # 1 GiB
MAX_SIDE = 1 << 16  # pixels
DEFAULT_MAX_REJECTED = "5%"


@dataclass(frozen=True)
class Shards(Group, argument="shards", heading="Shards"):
    """Into how many files each split is divided."""

    shards: Option[int | Mapping[str, int] | str, int | Mapping[str, int] | None] = Option(
        "shards of every split, or train=64,validation=8",
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
        form=Bytes(low=MIN_SHARD_BYTES, high=MAX_SHARD_BYTES),
        metavar="SIZE",
        json_name="shard_bytes",
        rule="changeable",
    )
    input_pipelines: Option[int, int] = Option(
        "input pipelines that will read; the number of shards is a multiple of it",
        default=1,
        form=Number(low=1, high=1 << 16),
        metavar="N",
        json_name="pipelines",
        rule="changeable",
    )

    def of_split(self, split: str) -> int | None:
        """Return the number of shards of a split that was given; None to choose it."""
        return self.shards.get(split) if isinstance(self.shards, Mapping) else self.shards

    def check_split_names(self, names: Collection[str]) -> None:
        """Check that `shards` names only splits that are written."""
        unknown = sorted(set(self.shards) - set(names)) if isinstance(self.shards, Mapping) else []
        if unknown:
            msg = f"{named('shards')} names the split {unknown[0]!r}; the conversion writes {', '.join(names)}"
            raise CallError(msg)


@dataclass(frozen=True, kw_only=True)
class Stored(Group, argument="stored", heading="Images", rule="fixed"):
    """How images are stored. The defaults keep the bytes of every JPEG and PNG that TensorFlow decodes as it is."""

    resize: Option[int | NoRule, int | None] = Option(
        "reduce the shorter side to N pixels; never enlarge",
        form=Side(NO_RULE, low=1, high=MAX_SIDE),
        default_text="sizes are kept",
        metavar="N",
        is_common=True,
    )
    max_side: Option[int | NoRule, int | None] = Option(
        "reduce the longer side to N pixels; never enlarge",
        form=Side(NO_RULE, low=1, high=MAX_SIDE),
        default_text="sizes are kept",
        metavar="N",
    )
    size: Option[str | tuple[int, int], tuple[int, int] | None] = Option(
        "give every image this size in pixels, such as 256x320, also by enlarging; see `fit`",
        form=ImageSize(NO_RULE, max_side=MAX_SIDE),
        default_text="sizes are kept",
        metavar="HEIGHTxWIDTH",
        is_common=True,
    )
    fit: Option[Fit, Fit] = Option(
        "with `size`: crop cuts off what is beyond the edges; pad adds a black border",
        default="crop",
        form=Choice(words=get_args(Fit)),
    )
    mask_padding: Option[int | NoRule, int | None] = Option(
        "class number of the border that `fit=pad` adds to masks, such as 255 for 'no class'",
        form=Number(NO_RULE, low=0, high=255),
        metavar="N",
    )
    quality: Option[int, int] = Option(
        "quality of JPEGs whose pixels change, 1 to 100; above 95 only size grows",
        default=DEFAULT_QUALITY,
        form=Number(low=1, high=100),
        metavar="N",
    )
    jpeg: Option[Jpeg, Jpeg] = Option(
        "baseline: re-encode progressive JPEGs, which decode slowly, with their own tables. keep: leave them",
        default="keep",
        form=Choice(words=get_args(Jpeg)),
    )
    subsampling: Option[Subsampling | NoRule, Subsampling | None] = Option(
        "re-encode JPEGs that have more chroma samples than this, with their own tables",
        form=Choice(NO_RULE, words=get_args(Subsampling)),
    )
    bit_depth: Option[str, str] = Option(
        "images with 16 bits a channel: high keeps the high 8 bits. scale=LOW:HIGH maps these samples to black and "
        "white in all of them, scale=auto those that they use",
        default=HIGH_BITS,
        form=BitDepth(),
        metavar="high|scale=LOW:HIGH|scale=auto",
    )
    background: Option[str | NoRule, str | None] = Option(
        "flatten images with alpha with this colour: white, black, gray or #RRGGBB",
        form=Colour(NO_RULE),
        default_text="alpha is kept",
        metavar="COLOUR",
    )
    strip_metadata: Option[bool, bool] = Option(
        "remove EXIF with GPS positions, comments and thumbnails; colour profiles stay",
        default=False,
        form=Switch(),
        off_flag="--keep-metadata",
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
        """Check that the options go together. Those that the user gives may need the rules of a dataset."""
        for option, value in (("resize", self.resize), ("max_side", self.max_side)):
            if value is not None and self.size is not None:
                msg = f"{named('size')} sets both sides, and {named(option, value)} one of them; give one of them"
                raise CallError(msg)
        if self.size is None:
            for option, given in (("fit", self.fit == "pad"), ("mask_padding", self.mask_padding is not None)):
                if given:
                    shown = named("fit", "pad") if option == "fit" else named(option)
                    example = named("size", "256x320")
                    raise CallError(f"{shown} needs the size of the stored images, such as {example} (height x width)")
        if self.mask_padding is not None and self.fit != "pad":
            padding, adds = named("mask_padding"), named("fit", "pad")
            raise CallError(f"{padding} is the class number of a border, and only {adds} adds one; leave it out")


@dataclass(frozen=True, kw_only=True)
class RunArguments(Group, heading="Run"):
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
        form=Switch(),
        commands=("append",),
    )
    overwrite: Option[bool, bool] = Option(
        "replace a different dataset in OUTPUT; append discards an unfinished append of another source",
        default=False,
        form=Switch(),
        changes_bytes=False,
        is_common=True,
        commands=("convert", "append"),
    )
    workers: Option[int, int | None] = Option(
        "threads in this process, without a runner of Beam",
        form=Number(low=1, high=1 << 16),
        default_text="all cores",
        metavar="N",
        changes_bytes=False,
        is_common=True,
    )
