"""Find the feature that holds the image, and how it is stored.

encoded       image/encoded, image, jpg …      bytes of a JPEG, PNG … file
pixels        image_raw, height, width, depth  TensorFlow's MNIST example (examples/how_tos/reading_data)
base64        image, image_height, image_width, image_channels
                                               TFRecorder: PIL's tobytes() in URL-safe base64 (beam_image.py)
"""

from collections.abc import Sequence

from shardkit.dataset.foreign.found_features import FoundFeature, FoundFeatures, Sampled, listed
from shardkit.dataset.foreign.record_layout import ImageFeature
from shardkit.dataset.foreign.values import Features, from_base64
from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.naming import printable
from shardkit.options.words import named

# In this order: if several features hold images, the first of these is the picture and the others are annotations,
# provided that their names say so.
_USUAL = ("image/encoded", "image", "img", "image_raw", "image/raw", "jpg", "jpeg", "png", "picture", "photo", "x")
_ANNOTATIONS = ("mask", "segment", "depth", "thumb", "annot", "trimap", "instance", "matte", "label", "overlay")
HEIGHTS = ("image/height", "image_height", "height", "rows", "h")
WIDTHS = ("image/width", "image_width", "width", "cols", "columns", "w")
CHANNELS = ("image/channels", "image_channels", "channels", "depth", "image/depth", "c")
_OTHER_TYPES = {2: "uint16", 4: "float32 or int32", 8: "float64 or int64"}  # bytes of a value that is not uint8


def find_image(
    found: FoundFeatures, sampled: Sequence[Sampled], wanted: str | None, usual: str | None = None
) -> ImageFeature:
    """Return the feature of the image: the `wanted` one, else that of the dataset's files, `usual`, else what is found.

    UnknownNameError: there is no feature of the wanted name. DataError: none holds an image, or the wanted one holds
    something else. CallError: several may be the image.
    """
    if wanted is not None and wanted not in found:
        msg = f"{named('image_feature', wanted)}: there is no such feature in the records; found:{listed(found)}"
        raise UnknownNameError(msg)
    chosen = wanted or usual
    if chosen is not None and chosen in found:
        return _stored(found[chosen], found, sampled)
    holding = [feature for feature in found.values() if feature.holds_images and feature.most == 1]
    if len(holding) > 1:
        first = min(holding, key=lambda one: _USUAL.index(one.name) if one.name in _USUAL else len(_USUAL))
        others = [one for one in holding if one is not first]
        if first.name not in _USUAL or not all(any(word in one.name for word in _ANNOTATIONS) for one in others):
            names = " and ".join(printable(one.name) for one in holding)
            msg = f"{names} hold images; name one with {named('image_feature')}; found:{listed(found)}"
            raise CallError(msg)
        holding = [first]
    if holding:
        return ImageFeature(holding[0].name)
    of_bytes = [found[name] for name in _USUAL if name in found and found[name].kind == "bytes"]
    if of_bytes:
        return _stored(of_bytes[0], found, sampled)
    msg = f"no feature of the records holds an image; name one with {named('image_feature')}; found:{listed(found)}"
    raise DataError(msg)


def _stored(feature: FoundFeature, found: FoundFeatures, sampled: Sequence[Sampled]) -> ImageFeature:
    name = printable(feature.name)
    if feature.kind != "bytes":
        remedy = f"write the image's bytes, or name another feature with {named('image_feature')}"
        msg = f"the feature {name!r} holds {feature.kind} values, and an image is bytes; {remedy}; found:"
        raise DataError(msg + listed(found))
    if feature.most > 1:
        msg = (
            f"the feature {name!r} holds up to {feature.most} values in a record, and a record is one image; write a "
            f"record for each image, or name another feature with {named('image_feature')}; found:{listed(found)}"
        )
        raise DataError(msg)
    if feature.holds_images:
        return ImageFeature(feature.name)
    sizes = [_first(names, found) for names in (HEIGHTS, WIDTHS, CHANNELS)]
    raw = ImageFeature(feature.name, "pixels", *sizes)
    if raw.height is None or raw.width is None:
        missing = "is not an image file, and no features give its height and width in pixels"
        msg = (
            f"the feature {name!r} {missing}; name another feature with {named('image_feature')}; found:{listed(found)}"
        )
        raise DataError(msg)
    present = [(where, features) for where, features in sampled if features.get(feature.name)]
    for form in ("pixels", "base64 pixels"):
        image = ImageFeature(feature.name, form, *sizes)
        if all(pixels_of(image, features) is not None for _, features in present):
            return image
    where, features = present[0]
    height, width = (_number(features, name) for name in (raw.height, raw.width))
    data = features[feature.name][0]
    num_bytes = len(data) if isinstance(data, bytes) else 0
    what = f"in {where} the feature {name!r} holds {num_bytes:,} bytes that are no image file"
    area = (height or 0) * (width or 0)
    types = [type_ for size, type_ in _OTHER_TYPES.items() if area and num_bytes in {area * size, area * size * 3}]
    of = f"; they may be pixels of type {types[0]}, and only uint8 is read" if types else ""
    msg = f"{what}, nor {height} x {width} uint8 pixels of 1 or 3 channels{of}; found:{listed(found)}"
    raise DataError(msg)


def _first(names: Sequence[str], found: FoundFeatures) -> str | None:
    return next((name for name in names if name in found and found[name].kind == "int64"), None)


def _number(features: Features, name: str | None) -> int | None:
    values = features.get(name or "", [])
    return int(values[0]) if len(values) == 1 and not isinstance(values[0], bytes) else None


def pixels_of(image: ImageFeature, features: Features) -> tuple[bytes, int, int, int] | None:
    """Return a record's pixels with their height, width and channels; None if the bytes do not fit the size."""
    [data] = features[image.name]
    height, width = _number(features, image.height), _number(features, image.width)
    if not isinstance(data, bytes) or not height or not width or min(height, width) < 0:
        return None
    pixels = from_base64(data) if image.form == "base64 pixels" else data
    if pixels is None:
        return None
    channels, rest = divmod(len(pixels), height * width)
    announced = _number(features, image.channels) if image.channels else channels
    return None if rest or channels not in {1, 3} or channels != announced else (pixels, height, width, channels)
