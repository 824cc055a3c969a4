"""What is measured, as one value."""

from dataclasses import dataclass
from typing import Literal

from shardkit.errors import CallError
from shardkit.images.training_size import shorter_side_for
from shardkit.options.words import named

Dtype = Literal["float32", "bfloat16", "float16", "uint8"]
Order = Literal["full", "block"]


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """What `shardkit bench` measures.

    Attributes:
        dataset: The dataset's folder or its manifest.json.
        split: Name of the split; None for "train", or the first if there is none of that name.
        image_size: (height, width) of the trainer's images, pixels.
        batch_size: Images of a batch.
        dtype: Type of the trainer's images.
        order: Order of training that the other measurements are compared with.
        seconds: Time for measuring, shared by all measurements; processes and the sample take more.
        sample: Maximum number of images that are converted again.
        resize: Shorter side that is tried, pixels; None for one that fits `image_size`.
        target: Images a second that an accelerator takes; None if it is not known.
        with_advice: Whether other options are tried.
        with_cold: Whether files of the dataset are dropped from the page cache to measure cold reading.
        temporary: Folder for the sample and for copies of shards; None for the system's.
    """

    dataset: str
    split: str | None = None
    image_size: tuple[int, int] = (224, 224)
    batch_size: int = 64
    dtype: Dtype = "float32"
    order: Order = "full"
    seconds: float = 30.0
    sample: int = 512
    resize: int | None = None
    target: float | None = None
    with_advice: bool = True
    with_cold: bool = True
    temporary: str | None = None

    def __post_init__(self) -> None:
        lowest = {
            named("batch_size"): (self.batch_size, 1),
            named("sample"): (self.sample, 1),
            named("seconds"): (self.seconds, 1),
        }
        for name, (value, low) in lowest.items():
            if value < low:
                raise CallError(f"{name} must be at least {low}; found {value}")
        if self.target is not None and self.target <= 0:
            raise CallError(f"{named('target')} is a number of images a second above 0; found {self.target}")
        if self.resize is not None and self.resize < 1:
            raise CallError(f"{named('resize')} must be at least 1 pixel; found {self.resize}")

    @property
    def shorter_side(self) -> int:
        """The shorter side that images are reduced to in the trial of `resize`."""
        return self.resize or shorter_side_for(*self.image_size)
