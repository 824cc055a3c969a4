"""What a worker runs, as a value that travels as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Stage = Literal["read", "decode", "pixels", "whole"]

# Bytes of encoded images that a worker keeps in memory to measure decoding alone.
MAX_MEMORY_BYTES = 200 << 20  # 200 MiB
MAX_MEMORY_IMAGES = 512


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One measurement.

    Attributes:
        stage: "read": records in the order of training, with their CRCs. "decode": windows of images in memory.
            "pixels": the same, resized and cast. "whole": the input function.
        dataset: The dataset's folder.
        split: Name of the split.
        num_shards: Number of shards that are read, the first ones that are not empty.
        image_size: (height, width), pixels.
        batch_size: Images of a batch.
        dtype: Type of the images.
        order: "full" or "block".
        scaled_decoding: Whether JPEGs are decoded at a reduced scale, with antialiasing.
        threads: Number of threads of the input function; None for TensorFlow's own choice.
        cache: Folder for copies of the shards; None to read them where they are.
        memory_images: Number of images in memory, for "decode" and "pixels".
        warm_seconds: Shortest time that the stage runs before it is measured.
    """

    stage: Stage
    dataset: str
    split: str
    num_shards: int
    image_size: tuple[int, int]
    batch_size: int
    dtype: str
    order: str = "full"
    scaled_decoding: bool = False
    threads: int | None = None
    cache: str | None = None
    memory_images: int = MAX_MEMORY_IMAGES
    warm_seconds: float = 1.0

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "StageSpec":
        """Return the value of fields that came as JSON."""
        height, width = fields["image_size"]
        return cls(**{**fields, "image_size": (height, width)})
