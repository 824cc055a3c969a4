"""Find the column of a Parquet file that contains the images.

image: struct{bytes: binary, path: string}      Hugging Face's type, with any name
image: binary                                   with a usual name, or named by the user
images: list<struct{bytes, …}> or list<binary>  several images per record: refused with a message
"""

import pyarrow as pa

from shardkit.errors import DataError, UnknownNameError
from shardkit.options.words import named
from shardkit.sources.formats.column_names import IMAGE_COLUMNS
from shardkit.sources.formats.tables.parquet_files import ParquetFile, carried_type, open_parquet
from shardkit.sources.formats.tables.records import enumerated
from shardkit.storage import Folder

_USUAL_IMAGES = ("image", "img", "pixel_values", "image_bytes", "bytes", "jpg", "jpeg", "png", "webp")
_USUAL_LISTS = ("images", *_USUAL_IMAGES)


def is_binary(type_: pa.DataType) -> bool:
    """Return whether values are bytes of any length."""
    return bool(pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_))


def _holds_bytes(type_: pa.DataType) -> bool:
    """Return whether values are image{bytes, path}."""
    if not pa.types.is_struct(type_):
        return False
    at = type_.get_field_index("bytes")
    return at >= 0 and is_binary(type_.field(at).type)


def _is_list(type_: pa.DataType) -> bool:
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_))


def has_embedded_images(folder: Folder, path: str, wanted: str | None = None) -> bool:
    """Return whether a Parquet file contains images, or lists of images, rather than paths."""
    try:
        file = open_parquet(folder, path)
    except DataError:
        return False
    types = dict(zip(file.columns, file.arrow_types, strict=True))
    if wanted in types:
        return wanted in _columns_of_one(file, wanted) or _is_list_of_images(types[wanted])
    if _columns_of_one(file, None):
        return True
    texts = [name.lower() for name, type_ in types.items() if carried_type(type_) == pa.string()]
    return bool(_columns_of_several(file)) and not any(name in IMAGE_COLUMNS for name in texts)


def image_column(file: ParquetFile, wanted: str | None) -> str:
    """Return the name of the column of images."""
    found, several = _columns_of_one(file, wanted), _columns_of_several(file)
    if wanted is not None:
        if wanted in found:
            return wanted
        type_ = dict(zip(file.columns, file.arrow_types, strict=True)).get(wanted, pa.null())
        if not _is_list_of_images(type_):
            there = enumerated([*map(repr, found)]) or "none"
            msg = f"{file.url}: {wanted!r} is not a column of images, image{{bytes, path}} or bytes; there is {there}"
            raise UnknownNameError(msg)
        found, several = [], [wanted]
    if found:
        return next((name for usual in _USUAL_IMAGES for name in found if name.lower() == usual), found[0])
    if several:
        msg = (
            f"{file.url}: column {several[0]!r} holds lists of images, which shardkit does not read: write a record "
            f"for each image, or name a column of single images with {named('image_column')}"
        )
        raise DataError(msg)
    msg = (
        f"{file.url}: there is no column of images in it: neither image{{bytes, path}} nor plain bytes called "
        f"{', '.join(_USUAL_IMAGES[:-1])} or {_USUAL_IMAGES[-1]}; name another column of bytes with "
        f"{named('image_column')}"
    )
    raise DataError(msg)


def _columns_of_one(file: ParquetFile, wanted: str | None) -> list[str]:
    """Return the columns with one image per record; columns of plain bytes only if they have a usual name."""
    named = {*_USUAL_IMAGES, *([] if wanted is None else [wanted.lower()])}
    pairs = list(zip(file.columns, file.arrow_types, strict=True))
    of_structs = [name for name, type_ in pairs if _holds_bytes(type_)]
    return of_structs + [name for name, type_ in pairs if is_binary(type_) and name.lower() in named]


def _columns_of_several(file: ParquetFile) -> list[str]:
    pairs = zip(file.columns, file.arrow_types, strict=True)
    return [
        name
        for name, type_ in pairs
        if _is_list(type_)
        and (_holds_bytes(type_.value_type) or (is_binary(type_.value_type) and name.lower() in _USUAL_LISTS))
    ]


def _is_list_of_images(type_: pa.DataType) -> bool:
    return _is_list(type_) and (_holds_bytes(type_.value_type) or is_binary(type_.value_type))
