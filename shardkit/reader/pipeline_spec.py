"""What one input pipeline reads, and how, as one value."""

import math
from dataclasses import dataclass

import numpy as np

from shardkit.dataset.features import IMAGE, LABEL, has_labels
from shardkit.fetch.damaged_records import DamagedRecords
from shardkit.fetch.memory import HeldPixels
from shardkit.fetch.places import Wanted
from shardkit.fetch.table.records import RecordTable
from shardkit.order import BatchLayout, steps_per_epoch
from shardkit.order.batches import MAX_STEP
from shardkit.order.training import BlockwiseOrder, Order
from shardkit.reader.arguments.images import Images
from shardkit.reader.arguments.reading import ReadArguments
from shardkit.reader.iterators.start_steps import RandomStart, StartStep
from shardkit.storage import Folder, LocalFolder

# A call of Python takes a tenth of a millisecond: small batches share one.
BLOCK_EXAMPLES = 448
# Of photographs less is read at a time: two blocks are in memory, and the first batch waits for one.
BLOCK_BYTES = 4 << 20  # 4 MiB
SERVICE_EXAMPLES = 1024
# A call, and the watch of `retry`, take as long as reading a batch of small images from memory: several batches share
# them. Twice as many are read ahead.
MAX_STEPS_TOGETHER, STEPS_BYTES = 4, 4 << 20  # 4 MiB
# Of one core; only the order of magnitude matters. More images in a call take longer to trace and gain little.
CALL_SECONDS, IMAGE_SECONDS, PIXEL_SECONDS = 1e-3, 15e-6, 8e-9
MAX_CHUNK = 16
# Where each example has operations of its own, such as those of `map_fn`: they are traced as often.
MAX_SEPARATE = 4


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """What the pipelines of one input function read, and one of them: its layout and its first step."""

    table: RecordTable
    options: ReadArguments
    order: Order | None  # None in evaluation, which reads in file order
    image: Images | None  # None for the stored features, with encoded images
    class_weights: tuple[float, ...] | None  # in label order; each training element ends with its class's weight
    damaged: DamagedRecords | None  # those replaced, shared by all pipelines; None to stop at the first one
    pixels: HeldPixels | None  # the decoded images, if they are held in memory
    layout: BatchLayout
    start_step: int | StartStep | RandomStart  # an object is read when an iterator is made
    # Other processes run the graph: nothing calls Python, every record is read by itself, and the number of batches of
    # each process is not known.
    is_remote: bool = False
    is_single: bool = False  # one example is decoded at a time, because elements are not dense tensors

    @property
    def end_step(self) -> int:
        """End of the steps, exclusive."""
        if isinstance(self.start_step, RandomStart):
            return self.start_step.end_step
        if self.options.training:
            return MAX_STEP
        return steps_per_epoch(self.table.num_examples, self.layout.global_batch_size)

    @property
    def wanted(self) -> Wanted:
        """What is fetched of each example."""
        options = self.options
        decodes, features = self.image is not None, options.features or ()
        is_indexed = self.has_indexed_features or (decodes and options.map_fn is None and self.has_label_column)
        return Wanted(
            options.seed,
            None if self.image is None else self.image.crops,
            has_record=self.is_remote or not is_indexed,
            has_image=decodes or (self.has_indexed_features and IMAGE in features),
            has_size=self.has_indexed_features and not {"height", "width"}.isdisjoint(features),
            has_seed=options.map_fn is not None,
            has_batch_seed=options.batch_map_fn is not None,
            class_weights=self.class_weights,
            short_last_batch=options.has_short_batch,
        )

    @property
    def has_indexed_features(self) -> bool:
        """Whether elements have only features that the index holds: no record is parsed."""
        known = {IMAGE, "height", "width"} | ({LABEL} if self.table.has_class else set())
        return not self.is_remote and self.options.features is not None and known.issuperset(self.options.features)

    @property
    def is_ready(self) -> bool:
        """Whether so little is left to do after a fetch that no other thread is worth it."""
        image, pixels = self.image, self.pixels
        if self.steps_together > 1:
            return True
        if image is None or pixels is None or not self.has_images_only:
            return False
        return pixels.dtype == image.dtype and pixels.shape[:2] == tuple(image.size)

    @property
    def decodes(self) -> bool:
        """Whether examples are decoded after they were fetched, or given to a function one by one."""
        if self.pixels is not None and self.has_images_only:
            return False
        return self.image is not None or self.options.map_fn is not None

    @property
    def chunk_size(self) -> int:
        """Number of examples that one call of the decoding function works on; divides the batch of a replica.

        A call costs TensorFlow 30 to 40 microseconds whatever it does, as much as decoding 32 x 32 pixels. So small
        images are decoded several at a time, for about a millisecond; a photograph takes longer than that alone.
        """
        image, size = self.image, self.layout.per_replica_batch_size
        if not self.decodes:
            return size  # a batch is parsed or cast at once
        if self.is_single:
            return 1
        num_pixels = float(np.mean(self.table.height.astype(np.float64) * self.table.width))
        num_pixels += 0 if image is None else math.prod(image.size)
        most = MAX_CHUNK if self.has_images_only else MAX_SEPARATE
        fitting = min(most, int(CALL_SECONDS / (IMAGE_SECONDS + PIXEL_SECONDS * num_pixels)))
        return max((count for count in range(1, fitting + 1) if size % count == 0), default=1)

    @property
    def steps_together(self) -> int:
        """Number of steps whose batches are fetched and watched as one element, if nothing has to be done by batch."""
        options, table, image = self.options, self.table, self.image
        features = [one for name, one in table.features.items() if name in (options.features or table.features)]
        is_dense = image is not None or not any(None in one.shape for one in features)
        by_batch = self.decodes or options.batch_map_fn is not None or options.has_short_batch
        has_windows = isinstance(self.order, BlockwiseOrder)  # of which it holds two at a time
        # A store gives one step as fast as several only to calls that run side by side.
        is_near = table.held is not None or self.pixels is not None or all(map(_is_local, table.roots))
        if by_batch or has_windows or self.is_remote or not is_dense or not is_near:
            return 1
        num_bytes = _mean_bytes(table)
        if image is not None:
            num_bytes = math.prod(image.size) * image.channels * (1 if image.dtype == "uint8" else 4)
        most = int(STEPS_BYTES / (num_bytes * self.layout.per_worker_batch_size))
        return min(max(most, 1), MAX_STEPS_TOGETHER)

    @property
    def has_images_only(self) -> bool:
        """Whether nothing but its image has to be made of a record, without rounding of scaled decoding."""
        return (
            self.image is not None
            and not self.image.scaled_decoding
            and self.options.map_fn is None
            and self.has_label_column
        )

    @property
    def has_label_column(self) -> bool:
        """Whether the index has all that an element needs next to the image: one class, or nothing."""
        return self.table.has_class or not has_labels(self.table.features)

    @property
    def block_size(self) -> int:
        """Number of examples that one call of Python fetches: whole chunks.

        Batches that are not decoded here are fetched one by one, so that each has its own errors.
        """
        size = self.layout.per_worker_batch_size
        if self.is_remote:  # a service gives each of its workers whole steps
            return max(1, SERVICE_EXAMPLES // size) * size
        table, chunk = self.table, self.chunk_size
        if not self.decodes:
            return chunk
        return max(1, min(BLOCK_EXAMPLES, int(BLOCK_BYTES / _mean_bytes(table))) // chunk) * chunk


def _mean_bytes(table: RecordTable) -> float:
    """Return the bytes of a record, on average."""
    return sum(shard.num_bytes for shard in table.shards) / int(table.starts[-1])


def _is_local(root: Folder) -> bool:
    return isinstance(root, LocalFolder)
