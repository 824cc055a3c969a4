"""EXIF blocks and XMP packets with and without a GPS position, as Pillow writes them."""

from PIL import Image

_GPS_IFD = 0x8825
XMP_POSITION = b'<x:xmpmeta><rdf:Description exif:GPSLatitude="47,22.1N" exif:GPSLongitude="8,32.3E"/></x:xmpmeta>'


def exif_with_gps(*, orientation: int = 1, position: bool = True) -> bytes:
    """An EXIF block with a camera, an orientation and a GPS directory.

    Args:
        orientation: the stored value.
        position: whether the directory has coordinates; without, only a version and a time, as cameras write that
            found no satellite.
    """
    exif = Image.Exif()
    exif[0x010F] = "Maker"
    exif[0x0112] = orientation
    gps = exif.get_ifd(_GPS_IFD)
    gps[0] = b"\2\3\0\0"
    gps[7] = (11.0, 4.0, 59.0)
    if position:
        gps |= {1: "N", 2: (47.0, 22.0, 6.0), 3: "E", 4: (8.0, 32.0, 18.0)}
    exif._ifds[_GPS_IFD] = gps
    return exif.tobytes()
