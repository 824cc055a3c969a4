"""The options that say what is made of a source: splits, shards, stored images, and how the work runs."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import get_args

from shardkit.image_limits import LARGEST_FILE_BYTES, MAX_FILE_BYTES
from shardkit.options.definition import Group, group, option
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

DEFAULT_QUALITY = 95  # the quality of FFCV and of ImageNet's own resized copies
TARGET_SHARD_BYTES = 128 << 20  # 128 MiB
MAX_SIDE = 1 << 16  # pixels
MIN_BLOCK = 10  # numbers: of fewer, most would be next to a border
DEFAULT_MAX_REJECTED = "5%"


@group("splits")
@dataclass(frozen=True)
class Splits(Group):
    """How examples are divided into splits."""

    splits: Mapping[str, float] | Sequence[float] | str | None = field(
        default=None,
        metadata=option(
            "shares: train=0.8,test=0.2, or 80/10/10 for train, validation and test, or 80/20 for train and "
            "validation; own keeps SOURCE's splits",
            heading="Splits",
            form=Shares(none=OWN_SPLITS),
            default_text="SOURCE's, or all train",
            metavar="SHARES",
            rule="changeable",
            is_common=True,
        ),
    )
    _: KW_ONLY
    splits_of: str | Sequence[str] = field(
        default=(),
        metadata=option(
            "divide only this split of SOURCE by `splits`; its other splits stay",
            heading="Splits",
            form=SplitNames(),
            metavar="SPLIT",
            rule="changeable",
        ),
    )
    split_by: SplitBy = field(
        default="stratified",
        metadata=option(
            "stratified: every class gets its share, within one image (a few with several labels). hash: an image "
            "keeps its split when SOURCE is converted again with more images",
            heading="Splits",
            form=Choice(words=get_args(SplitBy)),
            rule="fixed",
            is_common=True,
        ),
    )
    group_by: str | None = field(
        default=None,
        metadata=option(
            "keep groups in one split: a table's column, or the first group of a regular expression on keys",
            heading="Splits",
            form=Form(none=NO_RULE),
            metavar="COLUMN|REGEX",
            rule="changeable",
            is_common=True,
        ),
    )
    block: int | NoRule | None = field(
        default=None,
        metadata=option(
            "with `group_by`: give splits to blocks of N consecutive numbers in the file names of a group, not to the "
            "group; at a border between splits, images within N/20 numbers are left out",
            heading="Splits",
            form=Number(NO_RULE, low=MIN_BLOCK, high=1 << 40),
            default_text="whole groups",
            metavar="N",
            rule="changeable",
        ),
    )


@group()
@dataclass(frozen=True, kw_only=True)
class DatasetArguments(Group):
    """What a dataset is made of, besides its splits, its shards and the form of its images."""

    name: str = field(
        default="dataset",
        metadata=option(
            "name of the dataset", heading="Run", form=Identifier(), metavar="NAME", commands=OF_NEW_DATASETS
        ),
    )
    seed: int = field(
        default=0,
        metadata=option(
            "seed for splits and for the assignment to shards",
            heading="Splits",
            form=Number(),
            metavar="N",
            rule="fixed",
            is_common=True,
        ),
    )
    dedupe: Dedupe = field(
        default="group",
        metadata=option(
            "identical and near-identical images: group keeps them in one split, identical does so with identical ones "
            "only, drop keeps the first, ignore keeps all",
            heading="Splits",
            form=Choice(words=get_args(Dedupe)),
            rule="fixed",
        ),
    )
    check: Check = field(
        default="decode",
        metadata=option(
            "decode: read and decode every image before planning. header: open no image before writing",
            heading="Images",
            form=Choice(words=get_args(Check)),
            rule="fixed",
        ),
    )
    max_file_size: int | str = field(
        default=MAX_FILE_BYTES,
        metadata=option(
            "larger image files and masks are rejected before they are read; at most 1GiB",
            heading="Images",
            form=Bytes(high=LARGEST_FILE_BYTES),
            metavar="SIZE",
            json_name="max_file_bytes",
            rule="changeable",
        ),
    )
    # No rule, and not in a manifest: the images of an append are others, and so is what they lose.
    accept: Sequence[str] = field(
        default=(),
        metadata=option(
            "go on although a finding with this code stops the conversion; its message has the command",
            heading="Run",
            form=SeveralOf(words=tuple(ACCEPTABLE)),
            metavar="CODE",
            changes_bytes=False,
        ),
    )


@group("shards")
@dataclass(frozen=True)
class Shards(Group):
    """Into how many files each split is divided."""

    shards: int | Mapping[str, int] | str | None = field(
        default=None,
        metadata=option(
            "shards of every split, or train=64,validation=8",
            heading="Shards",
            form=ShardNumbers(),
            default_text="by size",
            metavar="N",
            json_name="shards",
            is_common=True,
        ),
    )
    _: KW_ONLY
    shard_size: int | str = field(
        default=TARGET_SHARD_BYTES,
        metadata=option(
            "target size of a shard, 10MiB to 1GiB",
            heading="Shards",
            form=Bytes(),
            metavar="SIZE",
            json_name="shard_bytes",
            rule="changeable",
        ),
    )
    input_pipelines: int = field(
        default=1,
        metadata=option(
            "input pipelines that will read; the number of shards is a multiple of it",
            heading="Shards",
            form=Number(low=1, high=1 << 16),
            metavar="N",
            json_name="pipelines",
            rule="changeable",
        ),
    )


@group("stored")
@dataclass(frozen=True, kw_only=True)
class Stored(Group):
    """How images are stored. The defaults keep the bytes of every JPEG and PNG that TensorFlow decodes as it is."""

    resize: int | NoRule | None = field(
        default=None,
        metadata=option(
            "reduce the shorter side to N pixels; never enlarge",
            heading="Images",
            form=Side(NO_RULE, low=1, high=MAX_SIDE),
            default_text="sizes are kept",
            metavar="N",
            rule="fixed",
            is_common=True,
        ),
    )
    max_side: int | NoRule | None = field(
        default=None,
        metadata=option(
            "reduce the longer side to N pixels; never enlarge",
            heading="Images",
            form=Side(NO_RULE, low=1, high=MAX_SIDE),
            default_text="sizes are kept",
            metavar="N",
            rule="fixed",
        ),
    )
    size: str | tuple[int, int] | None = field(
        default=None,
        metadata=option(
            "give every image this size in pixels, such as 256x320, also by enlarging; see `fit`",
            heading="Images",
            form=ImageSize(NO_RULE),
            default_text="sizes are kept",
            metavar="HEIGHTxWIDTH",
            rule="fixed",
            is_common=True,
        ),
    )
    fit: Fit = field(
        default="crop",
        metadata=option(
            "with `size`: crop cuts off what is beyond the edges; pad adds a black border",
            heading="Images",
            form=Choice(words=get_args(Fit)),
            rule="fixed",
        ),
    )
    mask_padding: int | NoRule | None = field(
        default=None,
        metadata=option(
            "class number of the border that `fit=pad` adds to masks, such as 255 for 'no class'",
            heading="Images",
            form=Number(NO_RULE, low=0, high=255),
            metavar="N",
            rule="fixed",
        ),
    )
    quality: int = field(
        default=DEFAULT_QUALITY,
        metadata=option(
            "quality of JPEGs whose pixels change, 1 to 100; above 95 only size grows",
            heading="Images",
            form=Number(low=1, high=100),
            metavar="N",
            rule="fixed",
        ),
    )
    jpeg: Jpeg = field(
        default="keep",
        metadata=option(
            "baseline: re-encode progressive JPEGs, which decode slowly, with their own tables. keep: leave them",
            heading="Images",
            form=Choice(words=get_args(Jpeg)),
            rule="fixed",
        ),
    )
    subsampling: Subsampling | NoRule | None = field(
        default=None,
        metadata=option(
            "re-encode JPEGs that have more chroma samples than this, with their own tables",
            heading="Images",
            form=Choice(NO_RULE, words=get_args(Subsampling)),
            rule="fixed",
        ),
    )
    bit_depth: str = field(
        default=HIGH_BITS,
        metadata=option(
            "images with 16 bits a channel: high keeps the high 8 bits. scale=LOW:HIGH maps these samples to black and "
            "white in all of them, scale=auto those that they use",
            heading="Images",
            form=BitDepth(),
            metavar="high|scale=LOW:HIGH|scale=auto",
            rule="fixed",
        ),
    )
    background: str | NoRule | None = field(
        default=None,
        metadata=option(
            "flatten images with alpha with this colour: white, black, gray or #RRGGBB",
            heading="Images",
            form=Colour(NO_RULE),
            default_text="alpha is kept",
            metavar="COLOUR",
            rule="fixed",
        ),
    )
    strip_metadata: bool = field(
        default=False,
        metadata=option(
            "remove EXIF with GPS positions, comments and thumbnails; colour profiles stay",
            heading="Images",
            form=Switch(),
            off_flag="--keep-metadata",
            rule="fixed",
        ),
    )


@group()
@dataclass(frozen=True, kw_only=True)
class RunArguments(Group):
    """How the conversion runs; none of them changes a byte."""

    max_rejected: int | float | str = field(
        default=DEFAULT_MAX_REJECTED,
        metadata=option(
            "maximum number or share of rejected images: 20, 5% or 0.05",
            heading="Images",
            metavar="LIMIT",
            changes_bytes=False,
            is_common=True,
        ),
    )
    skip_existing: bool = field(
        default=False,
        metadata=option(
            "leave out images that DATASET has, instead of refusing them",
            heading="Run",
            form=Switch(),
            commands=("append",),
        ),
    )
    overwrite: bool = field(
        default=False,
        metadata=option(
            "replace a different dataset in OUTPUT; append discards an unfinished append of another source",
            heading="Run",
            form=Switch(),
            changes_bytes=False,
            is_common=True,
            commands=("convert", "append"),
        ),
    )
    workers: int | None = field(
        default=None,
        metadata=option(
            "threads in this process, without a runner of Beam",
            heading="Run",
            form=Number(low=1, high=1 << 16),
            default_text="all cores",
            metavar="N",
            changes_bytes=False,
            is_common=True,
        ),
    )
