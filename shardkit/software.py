"""Versions of the libraries that decide which bytes are written. The manifest records them; a dataset has one set."""

import functools
import hashlib
import importlib.metadata
import importlib.util
import io
import platform

__version__ = "0.1.0"

PROBE_SIDE = 128  # pixels; 48 KiB of samples fill several blocks of deflate
# Entries that exist only if a package is installed that not every conversion needs. A dataset without its formats does
# not depend on them; one with its formats has another inventory.
OPTIONAL = frozenset({"pillow_heif", "libheif"})
_ONLY_MINOR = frozenset({"python", "beam"})  # entries of `environment` whose patch versions work together
# Entries of `versions` that are packages, with their names for pip. The others come with these.
_PACKAGES = {
    **{name: name for name in ("shardkit", "pyarrow", "pillow", "simplejpeg")},
    "pillow_heif": "pillow-heif",
}
# Entries of `versions` that are digests, with the format for messages.
ENCODERS = {"jpeg_encoder": "JPEG", "png_encoder": "PNG"}


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of shardkit, pyarrow, Pillow and its decoders, and a digest of what each encoder writes.

    pyarrow writes its version into Parquet, and simplejpeg's decoder decides which JPEGs are damaged. The encoders are
    identified by their output, not by a version: Pillow's wheels link to the zlib of the process, so another library
    that exports the same symbols (TensorFlow does) replaces it if it was loaded first, and libjpeg's version is the one
    that Pillow was compiled with.
    """
    import pyarrow as pa
    import simplejpeg
    from PIL import __version__ as pillow
    from PIL import features

    codecs = {name: str(features.version(name)) for name in ("libjpeg_turbo", "jpg_2000", "libtiff", "webp", "avif")}
    encoders = {name: _encoded_digest(kind) for name, kind in ENCODERS.items()}
    packages = {"pyarrow": pa.__version__, "pillow": pillow, "simplejpeg": simplejpeg.__version__}
    return {"shardkit": __version__, **packages, **codecs, **_heif(), **encoders}


def _heif() -> dict[str, str]:
    if importlib.util.find_spec("pillow_heif") is None:
        return {}
    import pillow_heif

    return {"pillow_heif": pillow_heif.__version__, "libheif": pillow_heif.libheif_version()}


def environment() -> dict[str, str]:
    """Return the versions that a driver and its workers share: `versions`, and those of Python, Beam and numpy."""
    import numpy as np

    beam = importlib.metadata.version("apache-beam") if importlib.util.find_spec("apache_beam") else ""
    return {"python": platform.python_version(), "beam": beam, "numpy": np.__version__, **versions()}


def differing(driver: dict[str, str], worker: dict[str, str]) -> list[str]:
    """Return the names of versions in two results of `environment` that must not differ and do, sorted."""

    def needed(name: str, found: dict[str, str]) -> str | None:
        version = found.get(name)
        return ".".join(version.split(".")[:2]) if version and name in _ONLY_MINOR else version

    return [name for name in sorted({*driver, *worker}) if needed(name, driver) != needed(name, worker)]


def difference(before: dict[str, str], after: dict[str, str], *, ignored: frozenset[str] = frozenset()) -> str:
    """Return how two results of `versions` differ, in words; empty if they are equal.

    Args:
        before: The earlier versions.
        after: The later versions.
        ignored: Entries that only one of them may have.
    """
    changed = _changed(before, after, ignored)
    return ", ".join(_change(name, before.get(name), after.get(name)) for name in changed)


def _changed(before: dict[str, str], after: dict[str, str], ignored: frozenset[str]) -> list[str]:
    return [
        name
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name) and not (name in ignored and (name not in before or name not in after))
    ]


def made_with(before: dict[str, str]) -> str:
    """Return the versions that a dataset was made with and that differ from this environment's; '' if none differs."""
    now = versions()
    changed = _changed(before, now, OPTIONAL)
    packages = [name for name in changed if name in _PACKAGES and name in before]
    if not packages:
        return difference(before, now, ignored=OPTIONAL)
    found = ", ".join(f"{name} {before[name]} ({now.get(name, 'none')} is installed)" for name in packages)
    return f"it was made with {found}"


def restoring_command(before: dict[str, str]) -> str:
    """Return the command that installs earlier versions; '' if no version of a package differs."""
    changed = _changed(before, versions(), OPTIONAL)
    packages = [f"{_PACKAGES[name]}=={before[name]}" for name in changed if name in _PACKAGES and name in before]
    return f"pip install {' '.join(packages)}" if packages else ""


def _change(name: str, before: str | None, after: str | None) -> str:
    if name not in ENCODERS:
        return f"{name} was {before} and is {after}"
    uses = f" (Pillow uses zlib {zlib_version()} now)" if name == "png_encoder" else ""
    return f"the {ENCODERS[name]} encoder writes other bytes{uses}"


def zlib_version() -> str:
    """Return the version of the zlib that Pillow's PNG encoder uses in this process."""
    from PIL import features

    return str(features.version("zlib"))


def _encoded_digest(kind: str) -> str:
    from PIL import Image

    out = io.BytesIO()
    Image.frombytes("RGB", (PROBE_SIDE, PROBE_SIDE), _probe_samples()).save(out, kind)
    return hashlib.sha256(out.getvalue()).hexdigest()[:16]


def _probe_samples() -> bytes:
    """Return noise, a gradient and repeated noise: literals, short matches and matches at a distance."""
    third = PROBE_SIDE * PROBE_SIDE
    noise = hashlib.shake_128(b"shardkit").digest(third // 2)
    return noise + bytes(i * i // 64 % 256 for i in range(third)) + bytes(value % 8 for value in noise) * 2 + noise
