"""Options of the form in which images are stored."""

from dataclasses import dataclass

from shardkit.errors import CallError
from shardkit.options.groups import DEFAULT_QUALITY, MAX_SIDE
from shardkit.options.parsing import within
from shardkit.options.values import HIGH_BITS, Fit, Jpeg, Subsampling
from shardkit.options.words import named

# Pixels of the stored picture: RGB with more is 1 GiB.
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
        bit_depth: How images with 16 bits a channel become 8: ``high`` keeps the high 8, ``scale=LOW:HIGH`` maps this
            range of samples to black and white; ``scale=auto`` is the range of the source, which planning finds.
        background: The colour that images with alpha are flattened with, ``#RRGGBB``; None to keep alpha.
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
    bit_depth: str = HIGH_BITS
    background: str | None = None
    strip_metadata: bool = False

    def __post_init__(self) -> None:
        within("quality", self.quality, 1, 100)
        for option, value in (("resize", self.resize), ("max_side", self.max_side)):
            if value is not None:
                within(option, value, 1, MAX_SIDE)
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
        else:
            self._check_size(*self.size)
        if self.mask_padding is not None:
            within("mask_padding", self.mask_padding, 0, 255)
            if self.fit != "pad":
                padding, adds = named("mask_padding"), named("fit", "pad")
                msg = f"{padding} is the class number of a border, and only {adds} adds one; leave it out"
                raise CallError(msg)

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

    @staticmethod
    def _check_size(height: int, width: int) -> None:
        for side in (height, width):
            within("size", side, 1, MAX_SIDE)
        if height * width > _MAX_AREA:
            msg = f"{named('size', (height, width))} has more than {_MAX_AREA:,} pixels; choose a smaller one"
            raise CallError(msg)
