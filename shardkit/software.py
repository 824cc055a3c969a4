"""The versions that decide which bytes are written; recorded in the manifest, never mixed in one dataset."""

import functools

__version__ = "0.1.0"


@functools.cache
def versions() -> dict[str, str]:
    """Versions of shardkit, of pyarrow (it writes its own into Parquet), of Pillow and the codecs inside it."""
    import pyarrow as pa
    from PIL import __version__ as pillow
    from PIL import features

    codecs = {name: str(features.version(name)) for name in ("libjpeg_turbo", "zlib", "libtiff", "webp", "avif")}
    return {"shardkit": __version__, "pyarrow": pa.__version__, "pillow": pillow, **codecs}
