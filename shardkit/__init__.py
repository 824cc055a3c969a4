"""shardkit: folders of labelled images to balanced TFRecord shards, and the tf.data input function over them.

``import shardkit`` loads neither TensorFlow nor Beam, nor anything else that is heavy.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardkit.dataset.manifest import Manifest

from shardkit.software import __version__

__all__ = ["__version__", "read_manifest"]


def read_manifest(path: str) -> "Manifest":
    """Read the manifest of a dataset: its folder, local or s3:// or gs://, or its ``manifest.json``.

    Raises:
        shardkit.errors.ManifestError: there is none, it is damaged, newer, or names a path outside its folder.
    """
    from shardkit.dataset.manifest import read_manifest

    return read_manifest(path)
