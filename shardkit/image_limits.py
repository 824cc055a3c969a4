"""The largest images that are stored: the limits of the decoders that read them later.

Pillow limits the number of pixels, and libpng the length of a side (TensorFlow 2.21 refuses a PNG with a longer one).

The limits are in a module of their own because `dataset` compares indexes with them, and it does not import `images`.
"""

MAX_PIXELS = 89_478_485  # Pillow's Image.MAX_IMAGE_PIXELS: larger images may be decompression bombs
MAX_SIDE = 1_000_000  # pixels; libpng's PNG_USER_WIDTH_MAX and PNG_USER_HEIGHT_MAX
# The default of max_file_size: what an RGB image of MAX_PIXELS takes without compression.
MAX_FILE_BYTES = 256 << 20  # 256 MiB
LARGEST_FILE_BYTES = 1 << 30  # 1 GiB, for max_file_size: an example, which holds the image, must be below 2 GiB
