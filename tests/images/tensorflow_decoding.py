"""TensorFlow's decoder as the tests' referee: what it refuses must never be stored."""

import os

import numpy as np
import numpy.typing as npt

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


def tensorflow_decodes(data: bytes) -> npt.NDArray[np.uint8]:
    """Pixels of a JPEG or PNG, uint8 of (height, width, channels).

    Raises:
        tensorflow.errors.InvalidArgumentError: where TensorFlow refuses the file.
    """
    # Exact transforms and upsampling, as Pillow uses them; the default trades them for speed.
    if data.startswith(b"\xff\xd8"):
        return np.asarray(tf.io.decode_jpeg(data, dct_method="INTEGER_ACCURATE"))
    return np.asarray(tf.io.decode_png(data))
