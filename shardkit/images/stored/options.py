"""Options of the form in which images are stored."""

import re
from dataclasses import dataclass
from numbers import Integral

from shardkit.errors import CallError
from shardkit.option_values import Fit, Jpeg, Subsampling

DEFAULT_QUALITY = 95  # the quality of FFCV and of ImageNet's own resized copies
MAX_SIDE = 1 << 16  # pixels
# Pixels of the stored picture: RGB with more is 1 GiB.
_TWO_SIDES = re.compile(r"\s*(\d+)\s*[xX×*,]\s*(\d+)\s*")
_MAX_AREA = 1 << 28


@dataclass(frozen=True, slots=True)
class StoredForm:
    """How images are stored. The defaults keep the bytes of every JPEG and PNG that TensorFlow decodes as it is.

    Attributes:
        resize: Shorter side in pixels to which larger images are reduced; None for no limit.
        max_side: Longer side in pixels to which larger images are reduced; None for no limit.
        size: Height and width in pixels that every image gets, also by enlarging; None to keep the images' own.
        fit: With `size`: ``crop`` fills it and cuts off what is beyond the edges, equally on both sides; ``pad`` keeps
            the whole image, in the centre of a black picture.
        mask_padding: Class number of the border that ``pad`` adds to masks, 0 to 255; None if there are no masks.
        quality: Quality of JPEGs that are re-encoded because their pixels change, 1 to 100 on Pillow's scale; above 95
            files grow with hardly any gain.
        jpeg: ``baseline`` re-encodes progressive JPEGs with their own quantisation tables; ``keep`` leaves them.
        subsampling: Chroma subsampling of all JPEGs that are encoded; JPEGs with more chroma samples are re-encoded
            with their own quantisation tables. None keeps the others, and encodes with 4:2:0.
        strip_metadata: Whether metadata other than colour profiles is removed.
    """

    resize: int | None = None
    max_side: int | None = None
    size: tuple[int, int] | None = None
    fit: Fit = "crop"
    mask_padding: int | None = None
    quality: int = DEFAULT_QUALITY
    jpeg: Jpeg = "keep"
    subsampling: Subsampling | None = None
    strip_metadata: bool = False

    def __post_init__(self) -> None:
        within("--quality", self.quality, 1, 100)
        for option, value in (("--resize", self.resize), ("--max-side", self.max_side)):
            if value is not None:
                parse_side(option, value)
                within(option, value, 1, MAX_SIDE)
            if value is not None and self.size is not None:
                raise CallError(f"--size sets both sides, and {option} {value} one of them; give one of them")
        if self.size is None:
            for option, given in (("--fit pad", self.fit == "pad"), ("--mask-padding", self.mask_padding is not None)):
                if given:
                    msg = f"{option} needs the size of the stored images, such as --size 256x320 (height x width)"
                    raise CallError(msg)
        else:
            self._check_size(*self.size)
        if self.mask_padding is not None:
            within("--mask-padding", self.mask_padding, 0, 255)
            if self.fit != "pad":
                msg = "--mask-padding is the class number of a border, and only --fit pad adds one; leave it out"
                raise CallError(msg)

    @property
    def keeps_sizes(self) -> bool:
        """Whether no option changes the size of an image."""
        return self.resize is None and self.max_side is None and self.size is None

    @staticmethod
    def _check_size(height: int, width: int) -> None:
        for side in (height, width):
            within("--size", side, 1, MAX_SIDE)
        if height * width > _MAX_AREA:
            raise CallError(f"--size {height}x{width} has more than {_MAX_AREA:,} pixels; choose a smaller one")


def within(option: str, value: object, low: int, high: int) -> None:
    """Check the range of an option's value.

    Raises:
        CallError: It is out of range.
    """
    if not isinstance(value, Integral):
        raise CallError(f"{option} must be a whole number from {low} to {high}; found {value!r}")
    if not low <= int(value) <= high:
        raise CallError(f"{option} must be from {low} to {high}; found {value}")


def parse_side(option: str, value: object) -> int:
    """Read the length of one side in pixels.

    Args:
        option: ``--resize`` or ``--max-side``.
        value: A whole number, or its digits.

    Raises:
        CallError: It is something else; for a height and a width the message names ``--size``.
    """
    if isinstance(value, Integral):
        return int(value)
    text = "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    if text.strip().isascii() and text.strip().removeprefix("-").isdecimal():
        return int(text)
    both = _TWO_SIDES.fullmatch(text)
    remedy = (
        f"--size {both[1]}x{both[2]} gives every image this height and width" if both else "write a number like 256"
    )
    raise CallError(f"{option} is one number, the length of a side in pixels; found {value!r}; {remedy}")


def size_text(size: tuple[int, int]) -> str:
    """Return height and width in pixels as `parse_size` reads them."""
    return "x".join(map(str, size))


def parse_size(text: str) -> tuple[int, int]:
    """Read ``256x320``: height and width in pixels.

    Raises:
        CallError: It is not two numbers.
    """
    height, by, width = text.strip().lower().replace("×", "x").partition("x")
    if height.isascii() and height.isdecimal() and not by:
        raise CallError(
            f"--size is HEIGHTxWIDTH; found {text!r}; write --size {height}x{height} for a square, or "
            f"--resize {height} to reduce the shorter side and keep the shape"
        )
    if not (height + width).isascii() or not height.isdecimal() or not width.isdecimal():
        raise CallError(f"--size is HEIGHTxWIDTH in pixels, such as 256x320; found {text!r}")
    return int(height), int(width)
