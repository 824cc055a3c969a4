"""shardkit: folders of labelled images to balanced TFRecord shards, and the tf.data input function over them.

``import shardkit`` loads neither TensorFlow nor Beam nor any other large library.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardkit.dataset.manifest import Manifest
    from shardkit.examples import Examples

from shardkit.adoption_api import adopt
from shardkit.api import convert, plan
from shardkit.software import __version__

__all__ = ["__version__", "adopt", "convert", "open", "plan", "read_manifest"]


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


def open(dataset: str, split: str, *, where: str | None = None) -> "Examples":  # noqa: A001 - read as shardkit.open
    """Open the examples of a split as a sequence, without TensorFlow; needs Pillow for pictures.

    Args:
        dataset: The dataset's folder, local or s3:// or gs://, or its ``manifest.json``.
        split: Name of the split.
        where: A condition on the index, such as ``"label_name = 'cat' and height >= 64"``; None for all examples.

    Returns:
        A sequence of mappings: ``examples[0]["label"]``, ``examples["cats/1.jpg"].image()``. It has length, slices and
        iteration, is pickled as the dataset's path, and keeps no file open.

    Raises:
        shardkit.errors.DataError: The dataset or an index is missing or damaged.
        shardkit.errors.UnknownNameError: There is no such split.
        shardkit.errors.CallError: The condition is wrong.
    """
    from shardkit.examples import Examples

    return Examples(str(dataset), split, where)
