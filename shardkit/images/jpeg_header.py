"""Read how a JPEG is encoded: its process, chroma subsampling and quality, which decide its size and decoding time."""

import struct
from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

from shardkit.images.gps import jpeg_has_position
from shardkit.images.info import BadImage
from shardkit.images.jpeg_segments import DQT, FRAMES, SIGNATURE, header_segments

Process = Literal["baseline", "progressive", "other"]

# Both decode in one pass over the data. They differ in the precision and number of tables only.
_SEQUENTIAL = frozenset({0xC0, 0xC1})
_PROGRESSIVE = frozenset({0xC2})
_FRAME_HEAD = 6  # bytes of precision, height, width and number of components
_TABLE_SIZE = 64
# Subsampling by the ratio of the first component's horizontal and vertical sampling factors to those of the others.
_SUBSAMPLING: dict[tuple[float, float], str] = {
    (1, 1): "4:4:4",
    (2, 1): "4:2:2",
    (2, 2): "4:2:0",
    (1, 2): "4:4:0",
    (4, 1): "4:1:1",
    (4, 2): "4:1:0",
}
# Chroma samples for each pixel.
CHROMA_SHARES = {name: 1 / (across * down) for (across, down), name in _SUBSAMPLING.items()}
# The luminance table of ITU-T T.81, annex K.1, which libjpeg scales by the quality. Only its sum is used, so the order
# does not matter.
_LUMINANCE = (
    *(16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29),
    *(51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121),
    *(120, 101, 72, 92, 95, 98, 112, 100, 103, 99),
)


@dataclass(frozen=True, slots=True)
class JpegHeader:
    """How a JPEG is encoded.

    Attributes:
        process: "baseline" for all sequential Huffman coding, "progressive", or "other", which no TensorFlow decodes.
        subsampling: "4:2:0", "4:4:4" and so on; "grey" for one component; "other" for factors without a name.
        quality: Estimated quality on libjpeg's scale, 1 to 100. It is exact for libjpeg's own tables; for others, such
            as Photoshop's, it is that of the tables of libjpeg with the nearest sum. None if there is no table.
        has_gps: Whether EXIF or XMP in the header holds a GPS position; see `gps.has_gps`.
    """

    process: Process
    subsampling: str
    quality: int | None
    has_gps: bool

    @property
    def is_progressive(self) -> bool:
        """Whether decoding needs several passes over all coefficients."""
        return self.process == "progressive"

    @property
    def chroma_share(self) -> float:
        """Chroma samples for each pixel: 1 for 4:4:4, 1/4 for 4:2:0; 0 for grey and for factors without a name."""
        return CHROMA_SHARES.get(self.subsampling, 0.0)


def read_jpeg_header(data: bytes) -> JpegHeader | None:
    """Read how a JPEG is encoded. Costs about ten microseconds.

    Args:
        data: The file, or its first bytes. 64 KiB are nearly always enough; a long colour profile or EXIF block may
            need more.

    Returns:
        The header; None if the bytes are no JPEG, are damaged, or end before the image data (read more then).
    """
    if not data.startswith(SIGNATURE):
        return None
    frame: tuple[int, bytes] | None = None  # marker, components
    tables: dict[int, int] = {}  # sum of each quantisation table by its number
    try:
        segments = list(header_segments(data))
    except BadImage:
        return None
    for marker, start, end in segments:
        if marker in FRAMES:
            frame = frame or (marker, data[start + 4 + _FRAME_HEAD : end])
        elif marker == DQT:
            tables |= _table_sums(data[start + 4 : end])
    if frame is None:
        return None
    marker, components = frame
    process: Process = "other"
    if marker in _SEQUENTIAL:
        process = "baseline"
    elif marker in _PROGRESSIVE:
        process = "progressive"
    luminance = tables.get(components[2]) if len(components) > 2 else None
    return JpegHeader(
        process,
        _subsampling(components),
        None if luminance is None else _QUALITY_OF.nearest(luminance),
        jpeg_has_position(data, segments),
    )


def _subsampling(components: bytes) -> str:
    """Return the name of the sampling factors; ``components`` has 3 bytes each: id, factors, number of the table."""
    factors = [(sampling >> 4, sampling & 0x0F) for sampling in components[1::3]]
    if len(factors) == 1:
        return "grey"
    (across, down), *others = factors or [(0, 0)]
    # A fourth component (the black of CMYK) is sampled like the first.
    ratios = {(across / max(1, h), down / max(1, v)) for h, v in others[:2]}
    return _SUBSAMPLING.get(ratios.pop(), "other") if len(ratios) == 1 else "other"


def _table_sums(payload: bytes) -> dict[int, int]:
    """Return the sum of each table of a DQT segment (T.81, B.2.4.1) by its number."""
    sums, position = {}, 0
    while position < len(payload):
        precision, number = payload[position] >> 4, payload[position] & 0x0F
        size = _TABLE_SIZE * (2 if precision else 1)
        values = payload[position + 1 : position + 1 + size]
        if len(values) < size:
            break
        sums[number] = sum(struct.unpack(f">{_TABLE_SIZE}H", values)) if precision else sum(values)
        position += 1 + size
    return sums


class _Qualities:
    """Sums of libjpeg's luminance table by quality."""

    def __init__(self) -> None:
        # Ascending sums, so from quality 100 down to 1. libjpeg's jpeg_quality_scaling.
        self._sums = []
        for quality in range(100, 0, -1):
            scale = 5000 // quality if quality < 50 else 200 - 2 * quality
            self._sums.append(sum(min(255, max(1, (value * scale + 50) // 100)) for value in _LUMINANCE))

    def nearest(self, luminance_sum: int) -> int:
        """Return the quality whose table has the nearest sum."""
        at = bisect_left(self._sums, luminance_sum)
        near = [i for i in (at - 1, at) if 0 <= i < len(self._sums)]
        return 100 - min(near, key=lambda i: abs(self._sums[i] - luminance_sum))


_QUALITY_OF = _Qualities()
