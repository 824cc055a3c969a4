"""shardkit: folders of labelled images to balanced TFRecord shards, and the tf.data input function over them.

``import shardkit`` loads neither TensorFlow nor Beam nor any other large library.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardkit.dataset.manifest import Manifest

from shardkit.api import convert, plan
from shardkit.software import __version__

__all__ = ["__version__", "convert", "plan", "read_manifest"]


def read_manifest(path: str) -> "Manifest":
    """Read the manifest of a dataset.

    Args:
        path: The dataset's folder, local or s3:// or gs://, or its ``manifest.json``.

    Raises:
        shardkit.errors.ManifestError: The manifest is missing or damaged, was written by a newer version, or names a
            path outside its folder.
    """
    from shardkit.dataset.manifest import read_manifest

    return read_manifest(path)
