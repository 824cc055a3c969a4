"""`Images`: how encoded images become tensors of one static shape."""

import contextlib
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, Literal

import tensorflow as tf

from shardkit.arguments.checks import (
    flag,
    normalise_fields,
    one_of,
    optional,
    real_number,
    refused,
    several,
    whole_number,
)
from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError
from shardkit.fetch.windows import Crops

EvalFit = Literal["crop", "stretch", "pad"]
ResizeMethod = Literal["bilinear", "antialias"]
Dtype = Literal["float32", "bfloat16", "float16", "uint8"]

MAX_SIDE = 1 << 16  # pixels; a JPEG cannot be larger
_INT32_MAX = (1 << 31) - 1
_FINITE = real_number("finite")
_DTYPES = ("float32", "bfloat16", "float16", "uint8")
_DTYPE = one_of(*_DTYPES)
_CHANNELS = several(_FINITE, "a finite number, or one for each channel", bool)

SIZE = several(
    whole_number(1, MAX_SIDE),
    f"(height, width) in pixels, whole numbers from 1 to {MAX_SIDE}, such as (224, 224)",
    lambda size: len(size) == 2,
)
"""Check of an image size: (height, width)."""


def _channels(name: str, found: Any) -> Any:
    """Check a number for all channels, which becomes a float, or one for each, which become a tuple."""
    with contextlib.suppress(CallError):
        return _FINITE(name, found)
    return _CHANNELS(name, found)


def _dtype(name: str, found: Any) -> str:
    """Check the name of a dtype, or a dtype of TensorFlow or NumPy, which becomes its name."""
    if not isinstance(found, str):
        with contextlib.suppress(TypeError):
            found = next((known for known in _DTYPES if tf.as_dtype(found).name == known), found)
    return str(_DTYPE(name, found))


_CROP_SCALE = several(
    _FINITE,
    "(least, greatest) with 0 < least <= greatest <= 1",
    lambda scale: len(scale) == 2 and 0 < scale[0] <= scale[1] <= 1,
)
_CROP_RATIO = several(
    _FINITE,
    "(least, greatest) with 0 < least <= greatest, both finite",
    lambda ratio: len(ratio) == 2 and 0 < ratio[0] <= ratio[1],
)
_CROP_FRACTION = real_number("a number above 0 and at most 1", lambda share: 0 < share <= 1)
_SHARE = real_number("a number from 0 to 1", lambda share: 0 <= share <= 1)


# What to use instead of the arguments of other readers.
IMAGES_WORDS = {
    "normalize": "mean=127.5, std=127.5 gives values from -1 to 1, mean=0, std=255 those from 0 to 1",
    "rescale": "mean=0, std=255 gives values from 0 to 1, mean=127.5, std=127.5 those from -1 to 1",
    "image_size": "Images((height, width))",
    "target_size": "Images((height, width))",
    "augmentation": "augment='imagenet' crops and mirrors at random, flip=True only mirrors",
    "color_mode": "images have 3 channels, with grayscale=True one",
    "interpolation": "resize_method='antialias' is smoother than the default, 'bilinear'",
    "center_crop": "eval_fit='crop', eval_crop_fraction=0.875 cuts the centre out in evaluation",
    "random_crop": "crop_scale=(0.08, 1) is the share of the area of random crops in training",
    "horizontal_flip": "flip=True mirrors half of the images in training",
    "training": "make_dataset_fn takes training=",
}


@suggest_arguments(other_words=IMAGES_WORDS, example="reader.Images((224, 224), flip=True)")
@dataclass(frozen=True, slots=True)
class Images:
    """How the reader turns encoded images into tensors of one static shape.

    With images, elements are (images, labels), in evaluation (images, labels, weights). Boxes and masks follow their
    image.

    Attributes:
        size: (height, width) of the result, in pixels.
        dtype: "float32", "bfloat16", "float16" or "uint8", also as a dtype of TensorFlow or NumPy. Values are 0 to 255
            in each of them, unless `mean` and `std` are given: uint8 is rounded, bfloat16 has 8 significant bits and
            float16 has 11, and nothing divides by 255.
        mean: A number, or one for each channel, of values 0 to 255; the result is (value - mean) / std. For -1 to 1,
            mean=127.5, std=127.5; for 0 to 1, mean=0, std=255; for ImageNet's statistics mean=(123.675, 116.28,
            103.53), std=(58.395, 57.12, 57.375). Statistics of values 0 to 1 are refused.
        std: A number above 0, or one for each channel; given together with `mean`.
        grayscale: Return one channel instead of three, with the luma weights of JPEG.
        resize_method: "bilinear", or "antialias", which is smoother for large reductions and slower.
        scaled_decoding: Decode a JPEG whose crop is at least 2, 4 or 8 times `size` at 1/2, 1/4 or 1/8 of its size.
            This is cheaper and changes pixels: crops of 2000 x 1500 to 224 x 224 have a PSNR of 32 dB to exact ones
            with resize_method="antialias", 25 dB with "bilinear". A small network was as accurate with as without,
            93 to 94 %; with "bilinear" it lost 4 to 8 points where training and evaluation differed in this
            (`bench_scaled_decoding.py`).
        augment: Training: "imagenet" is the usual recipe of ImageNet: crop_scale=(0.08, 1), flip=True, and
            eval_crop_fraction=0.875 in evaluation; for a dataset with boxes only flip=True, because crops lose boxes.
            None augments nothing: training sees what evaluation sees. What is given besides counts.
        crop_scale: Training: (least, greatest) share of the image's area that a random crop covers. None crops as in
            evaluation. (1, 1) is the whole image, whatever `crop_ratio` is: the pixels of eval_fit="stretch". Of the
            1.94 boxes an image of `sample_data/coco`, crops of (0.08, 1) keep 1.43, of (0.3, 1) 1.67 and of (0.5, 1)
            1.85.
        crop_ratio: Training: width / height of a random crop.
        flip: Training: mirror half of the images left to right; None is False.
        eval_fit: Evaluation, and training without random crops: "crop" the whole image to the aspect ratio of `size`
            about its centre, "stretch" it, or "pad" it with black; None is "crop", and "stretch" for a dataset with
            boxes, which loses none.
        eval_crop_fraction: The share of the largest centred window's sides that "crop" keeps; None is 1.
        max_boxes: Maximum number of boxes of an image; further ones are dropped. Labels of a detection dataset are
            {"boxes": float32[max_boxes, 4], "labels": int32[max_boxes]}, padded with 0 and -1. Boxes are (ymin, xmin,
            ymax, xmax) as shares, from 0 to 1, of the resulting image's height and width, as in TFDS.
        min_visible: Share of a box's area that must remain in the image; a box with less is dropped.
        mask_padding: Class number of the border that eval_fit="pad" adds to a mask, whose labels are
            int32[height, width].

    Raises:
        CallError: A value is of another type or out of range.
    """

    size: Annotated[tuple[int, int], SIZE]
    _: KW_ONLY
    dtype: Annotated[Dtype, _dtype] = "float32"
    mean: Annotated[float | tuple[float, ...] | None, optional(_channels)] = None
    std: Annotated[float | tuple[float, ...] | None, optional(_channels)] = None
    grayscale: Annotated[bool, flag] = False
    resize_method: Annotated[ResizeMethod, one_of("bilinear", "antialias")] = "bilinear"
    scaled_decoding: Annotated[bool, flag] = False
    augment: Annotated[Literal["imagenet"] | None, optional(one_of("imagenet"))] = None
    crop_scale: Annotated[tuple[float, float] | None, optional(_CROP_SCALE)] = None
    crop_ratio: Annotated[tuple[float, float], _CROP_RATIO] = (3 / 4, 4 / 3)
    flip: Annotated[bool | None, optional(flag)] = None
    eval_fit: Annotated[EvalFit | None, optional(one_of("crop", "stretch", "pad"))] = None
    eval_crop_fraction: Annotated[float | None, optional(_CROP_FRACTION)] = None
    max_boxes: Annotated[int, whole_number(1, _INT32_MAX)] = 100
    min_visible: Annotated[float, _SHARE] = 0.25
    mask_padding: Annotated[int, whole_number(-_INT32_MAX - 1, _INT32_MAX)] = 255  # int32, as the labels are

    def __post_init__(self) -> None:
        normalise_fields(self)
        if self.mean is None and self.std is None:
            return
        if self.mean is None or self.std is None:
            raise refused("mean and std", "given together", (self.mean, self.std))
        mean, std = (self._of_channels(values) for values in (self.mean, self.std))
        if min(std) <= 0:
            raise refused("mean and std", "finite, std above 0", (self.mean, self.std))
        _check_range(mean, std)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)
        if self.dtype == "uint8":
            raise refused("dtype", "'float32', 'bfloat16' or 'float16' with mean and std", self.dtype)

    def _of_channels(self, values: Any) -> tuple[float, ...]:
        """Return the number of each channel."""
        if isinstance(values, float):
            return (values,) * self.channels
        if len(values) != self.channels:
            rule = "1 number each, for the one channel" if self.grayscale else "3 numbers each, one for each channel"
            raise refused("mean and std", f"{rule}, or one number for all", (self.mean, self.std))
        return tuple(values)

    @property
    def channels(self) -> int:
        """1 or 3."""
        return 1 if self.grayscale else 3

    @property
    def crops(self) -> Crops:
        """How windows are chosen, once `resolved` has chosen what was left out."""
        fit, fraction = self.eval_fit or "crop", self.eval_crop_fraction or 1.0
        return Crops(self.size, self.crop_scale, self.crop_ratio, bool(self.flip), fit, fraction)

    @property
    def is_padded(self) -> bool:
        """Whether an image is resized as a whole and padded to `size`."""
        return self.eval_fit == "pad" and self.crop_scale is None

    def resolved(self, *, training: bool, has_boxes: bool) -> "Images":
        """Return these with the defaults of a dataset; in evaluation, without random crops and flips."""
        chosen: dict[str, Any] = {
            "flip": False,
            "eval_fit": "stretch" if has_boxes else "crop",
            "eval_crop_fraction": 1.0,
        }
        if self.augment == "imagenet":
            crop_scale = (1.0, 1.0) if has_boxes else (0.08, 1.0)
            chosen |= {"crop_scale": crop_scale, "flip": True, "eval_crop_fraction": 0.875}
        chosen = {name: value for name, value in chosen.items() if getattr(self, name) is None}
        return replace(self, **chosen | ({} if training else {"crop_scale": None, "flip": False}))


def _check_range(mean: tuple[float, ...], std: tuple[float, ...]) -> None:
    """Refuse statistics of values from 0 to 1: with them the result would reach a thousand."""
    if not (0 < max(mean) < 1 or max(std) < 1):
        return
    right = ", ".join(
        f"{name}={_shown(values, 255 if max(values) <= 1 else 1)}" for name, values in (("mean", mean), ("std", std))
    )
    found = f"mean={_shown(mean)}, std={_shown(std)}"
    raise CallError(f"mean and std must be those of values from 0 to 255: write {right}; found {found}")


def _shown(values: tuple[float, ...], factor: int = 1) -> str:
    shown = [f"{value * factor:g}" for value in values]
    return shown[0] if len(set(shown)) == 1 else f"({', '.join(shown)})"
