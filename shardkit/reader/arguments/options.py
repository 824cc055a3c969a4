"""What a trainer asks of the reader, checked once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from shardkit.hashing import MAX_SEED
from shardkit.reader.arguments.checks import Check, flag, one_of, optional, real_number, refused, several, whole_number

Fit = Literal["crop", "stretch", "pad"]
DTYPES = ("uint8", "float32", "bfloat16")
METHODS = ("bilinear", "antialias")
MAX_STEP = 1 << 40
MAX_SIDE = 1 << 16  # of an image, pixels; JPEG has no larger ones
MAX_BATCH = 1 << 22  # so that no position reaches 2**62, where the orders end

_CHANNELS = several(real_number("finite"), "finite numbers, one for each channel", bool)
# By the names that trainers know them by: `make_dataset_fn` checks what it is given with these too.
IMAGE_CHECKS: dict[str, Check] = {
    "image_size": several(
        whole_number(1, MAX_SIDE),
        f"(height, width) in pixels, whole numbers from 1 to {MAX_SIDE}",
        lambda size: len(size) == 2,
    ),
    "training": flag,
    "crop_scale": several(
        real_number("finite"),
        "(least, greatest) with 0 < least <= greatest <= 1",
        lambda scale: len(scale) == 2 and 0 < scale[0] <= scale[1] <= 1,
    ),
    "crop_ratio": several(
        real_number("finite"),
        "(least, greatest) with 0 < least <= greatest, both finite",
        lambda ratio: len(ratio) == 2 and 0 < ratio[0] <= ratio[1],
    ),
    "flip": flag,
    "fit": one_of("crop", "stretch", "pad"),
    "crop_fraction": real_number("a number above 0 and at most 1", lambda share: 0 < share <= 1),
    "dtype": one_of(*DTYPES),
    "mean": optional(_CHANNELS),
    "std": optional(_CHANNELS),
    "grey": flag,
    "method": one_of(*METHODS),
    "max_boxes": whole_number(1, (1 << 31) - 1),
    "min_visible": real_number("a number from 0 to 1", lambda share: 0 <= share <= 1),
    "mask_padding": whole_number(-(1 << 31), (1 << 31) - 1),  # int32, as the labels are
    "scaled_decoding": flag,
}
READ_CHECKS: dict[str, Check] = {
    "global_batch_size": whole_number(1, MAX_BATCH),
    "seed": whole_number(0, MAX_SEED),
}
_FIELDS = {"image_size": "size", "crop_scale": "scale", "crop_ratio": "ratio"}


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """From an encoded image to a tensor of static shape.

    Attributes:
        size: (height, width) of the result, pixels.
        training: random resized crop and flip; else `fit`.
        scale: share of the image's area that a random crop covers, 0 < least <= greatest <= 1.
        ratio: width / height of a random crop.
        flip: whether half of the training images are mirrored left to right.
        fit: how evaluation fits an image: "crop" out of its centre, "stretch" all of it, "pad" it with black.
        crop_fraction: share of the largest centred window's sides that "crop" keeps.
        dtype: of the result. Values are 0 to 255 in every dtype, unless mean and std are given.
        mean, std: of 0..255 values, one for each channel; the result is (value - mean) / std.
        grey: one channel rather than three.
        max_boxes: of a detection dataset's targets; further objects of an image are left out.
        min_visible: share of a box that has to lie in the window; of what lies there less, the box is left out.
        mask_padding: class number beside the image, where `fit` pads it.
        method: "bilinear" as the kernel does it, or "antialias", which is slower and smoother where it shrinks.
        scaled_decoding: JPEGs whose window is at least twice the target are decoded at 1/2, 1/4 or 1/8 of their size.
    """

    size: tuple[int, int]
    training: bool
    scale: tuple[float, float]
    ratio: tuple[float, float]
    flip: bool
    fit: Fit
    crop_fraction: float
    dtype: str
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    grey: bool
    method: str
    max_boxes: int
    min_visible: float
    mask_padding: int
    scaled_decoding: bool = False

    def __post_init__(self) -> None:
        for name, check in IMAGE_CHECKS.items():
            check(name, getattr(self, _FIELDS.get(name, name)))
        _require((self.mean is None) == (self.std is None), "mean and std", "given together", (self.mean, self.std))
        if self.mean is not None and self.std is not None:
            rule = "1 number each, for the one channel" if self.grey else "3 numbers each, one for each channel"
            right = len(self.mean) == len(self.std) == self.channels and min(self.std) > 0
            _require(right, "mean and std", f"{rule}, std above 0", (self.mean, self.std))
            _require(self.dtype != "uint8", "dtype", "'float32' or 'bfloat16' with mean and std", self.dtype)

    @property
    def channels(self) -> int:
        """1 or 3."""
        return 1 if self.grey else 3


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What is read, in which order, and what becomes of each example.

    Attributes:
        split: name of the split.
        global_batch_size: examples a step over all workers and replicas.
        training: endless, in `order`; else one pass in file order, padded with weight 0.
        seed: of order and augmentation.
        image: how images are decoded; None for the stored features, images still encoded.
        class_weights: in label order; each training element ends with its class's. None for no such weight.
        max_corrupt: damaged records that are replaced by others; None to stop at the first.
        batch_map_fn: per batch of a replica, called with its element and an int32[2] seed.
        map_fn: per example, called with a dict of features and an int32[2] seed; what it returns is the element.
    """

    split: str
    global_batch_size: int
    training: bool
    seed: int
    image: ImageOptions | None
    map_fn: Callable[[dict[str, Any], Any], Any] | None
    batch_map_fn: Callable[[Any, Any], Any] | None = None
    class_weights: tuple[float, ...] | None = None
    max_corrupt: int | None = None

    def __post_init__(self) -> None:
        for name, check in READ_CHECKS.items():
            check(name, getattr(self, name))
        _require(
            self.class_weights is None or self.training,
            "sample_weight",
            "left out of evaluation, where the weight tells padding",
            self.class_weights,
        )


def _require(holds: bool, name: str, rule: str, found: Any) -> None:  # noqa: FBT001 - the rule itself
    if not holds:
        raise refused(name, rule, found)
