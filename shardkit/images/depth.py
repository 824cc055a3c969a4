"""Images with 16 bits a channel: their samples, the range that these use, and the map of a range to 8 bits.

Pillow keeps 16 bits for grey images only; of colours it decodes the high bytes. The low bytes are decoded once more, as
if the samples had the other byte order.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shardkit.images.pillow import open_image

if TYPE_CHECKING:
    from PIL.Image import Image

Samples = npt.NDArray[np.uint16]

MAX_SAMPLE = (1 << 16) - 1
# Raw modes of 16 bits, with the raw mode that takes the other byte of each sample. "N" is the machine's byte order.
_OTHER_BYTES = {
    "RGB;16B": "RGB;16L",
    "RGB;16L": "RGB;16B",
    "RGB;16N": "RGB;16B" if np.little_endian else "RGB;16L",
    "RGBA;16B": "RGBA;16L",
    "RGBA;16L": "RGBA;16B",
    "RGBA;16N": "RGBA;16B" if np.little_endian else "RGBA;16L",
}
_GREY_AND_ALPHA = "LA;16B"  # has no other byte order: four bytes a pixel, which "RGBA" gives as they are


def samples_of(image: "Image", data: bytes, kind: str) -> Samples | None:
    """Return the samples of an image with 16 bits a channel; None if the decoder of its format gives 8 bits only.

    Args:
        image: The decoded image.
        data: Its file.
        kind: Its format.

    Returns:
        uint16[height, width] of a grey image, else uint16[height, width, channels]. Values of PPM are scaled to 65535,
        as its header says.
    """
    width, height = image.size
    if image.mode.startswith("I"):
        grey = image.convert("I;16") if image.mode == "I" else image
        order = ">u2" if grey.mode == "I;16B" else "<u2"  # Pillow turns the one into the other by clipping at 255
        values: Samples = np.frombuffer(grey.tobytes(), order).astype(np.uint16)
        return values.reshape((height, width))
    if kind not in {"PNG", "PPM", "TIFF"}:
        return None
    opened: Any = open_image(data, kind)
    if kind == "PPM":
        (tile,) = opened.tile
        if tile.codec_name != "ppm":  # numbers as text
            return None
        found = np.frombuffer(data, ">u2", width * height * 3, tile.offset).astype(np.float32)
        colours: Samples = np.rint(found * (MAX_SAMPLE / tile.args[1])).astype(np.uint16)
        return colours.reshape((height, width, 3))
    raw_modes = {_raw_mode(tile) for tile in opened.tile}
    if raw_modes == {_GREY_AND_ALPHA}:
        opened.tile = [_with_raw_mode(tile, "RGBA") for tile in opened.tile]
        pairs: Samples = np.asarray(opened).view(">u2").astype(np.uint16)
        return pairs
    if not raw_modes <= _OTHER_BYTES.keys():
        return None  # colours that the decoder divides by alpha
    opened.tile = [_with_raw_mode(tile, _OTHER_BYTES[_raw_mode(tile)]) for tile in opened.tile]
    # Pillow's TIFF plugin turns both pictures when it decodes them.
    samples: Samples = np.asarray(image).astype(np.uint16) << 8 | np.asarray(opened)
    return samples


def _raw_mode(tile: Any) -> str:
    return str(tile.args if isinstance(tile.args, str) else tile.args[0])


def _with_raw_mode(tile: Any, raw_mode: str) -> Any:
    return tile._replace(args=raw_mode if isinstance(tile.args, str) else (raw_mode, *tile.args[1:]))


def num_colours(samples: Samples) -> int:
    """Return the number of channels without alpha."""
    return 1 if samples.ndim == 2 or samples.shape[2] == 2 else 3


def used_range(samples: Samples) -> tuple[int, int]:
    """Return the least and the greatest sample, without alpha."""
    colours = samples if samples.ndim == 2 else samples[..., : num_colours(samples)]
    return int(colours.min()), int(colours.max())


def to_eight_bits(image: "Image", data: bytes, kind: str, scale: tuple[int, int] | None) -> "Image":
    """Return an image with 8 bits a channel.

    Args:
        image: See `samples_of`, like the two that follow.
        data: See `samples_of`.
        kind: See `samples_of`.
        scale: The samples that become 0 and 255, between which others lie; those beyond are clipped. None for the high
            8 bits, as TensorFlow's decode_png does it (Pillow would clip at 255). Of alpha, these are kept anyway.
    """
    from PIL import Image

    samples = samples_of(image, data, kind)
    if samples is None:
        return image  # its decoder has kept the high bits
    if scale is None:
        return Image.fromarray((samples >> 8).astype(np.uint8))
    low, high = scale
    values = (np.arange(MAX_SAMPLE + 1) - low) * 255 / (high - low)
    table = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    made = table[samples]
    if made.ndim == 3 and made.shape[2] > num_colours(samples):
        made[..., -1] = samples[..., -1] >> 8
    return Image.fromarray(made)
