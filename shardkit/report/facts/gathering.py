"""Gather everything that the page shows about a collection, but for its pictures."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shardkit.dataset.features import LABEL, LABELS, MASK, OBJECT_LABELS
from shardkit.errors import DataError
from shardkit.images import BadImage
from shardkit.images.training_size import shorter_side_for
from shardkit.options.words import shell_command
from shardkit.parallel.progress import Show, ignore_progress
from shardkit.report.collection import Batch, Collection, Rejects, Split, has_one_class, total_class_counts
from shardkit.report.facts.annotations import BoxFacts, MaskFacts, NumberFacts, box_facts, mask_facts, number_facts
from shardkit.report.facts.choosing import Chooser, ClassGroup, choose_classes, evenly_spaced, pictures_of_splits
from shardkit.report.facts.counting import Counted, count_examples
from shardkit.report.facts.jpegs import JpegFacts, jpeg_facts

HEADER_SAMPLE = 2000  # images whose headers are read
BOX_SAMPLE = 1000  # images whose boxes or numbers are read, as for `shardkit info`
MASK_SAMPLE = 200  # masks that are decoded
PAIRED_LABELS = 12  # most frequent labels of examples with several, counted in pairs
PICTURES_OF_CLASS = 8
PICTURES_WITHOUT_CLASSES = 24
REJECTED_SHOWN = 20  # of each reason


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Options of a report.

    Attributes:
        training_height: Height of the images in training, in pixels.
        training_width: Their width.
        hosts: Number of hosts that will read; None for the number that the conversion was planned for.
    """

    training_height: int = 224
    training_width: int = 224
    hosts: int | None = None

    @property
    def resize(self) -> int:
        """The value of `resize` that fits random crops of the training size."""
        return shorter_side_for(self.training_height, self.training_width)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything about a collection but its pictures.

    Attributes:
        options: Options of the report.
        classes: Class names in label order.
        splits: The splits.
        is_dataset: Whether it is a dataset; otherwise a source.
        counted: What one pass over all examples found.
        jpegs: Headers of a sample.
        groups: Classes with pictures.
        chosen: Numbers of the examples to show, by label; by -1 without classes.
        boxes: Boxes of a sample; None without boxes.
        masks: Masks of a sample; None without masks.
        numbers: Numbers of a sample; None without numbers.
        has_one_class: See the function of this name.
        has_lists: Whether examples have several labels (not those of boxes).
        rejects: The rejected files.
        hosts: Number of hosts that will read.
        is_resized: See Origin.
        split_by: See Origin.
        place: URL or path of the collection.
        num_gps: Number of images with a GPS position, if all were counted; None if the sample says it.
    """

    options: ReportOptions
    classes: Sequence[str]
    splits: Sequence[Split]
    is_dataset: bool
    counted: Counted
    jpegs: JpegFacts
    groups: Sequence[ClassGroup]
    chosen: dict[int, list[int]]
    boxes: BoxFacts | None
    masks: MaskFacts | None
    numbers: NumberFacts | None
    has_lists: bool
    rejects: Rejects
    hosts: int
    is_resized: bool
    split_by: str = ""
    place: str = ""
    num_gps: int | None = None
    has_one_class: bool = False

    @property
    def num_examples(self) -> int:
        """Number of examples of all splits."""
        return sum(split.num_examples for split in self.splits)


def _counted(batches: Iterable[Batch], show: Show) -> Iterator[Batch]:
    num_read = 0
    for batch in batches:
        yield batch
        num_read += len(batch.num_labels)
        show(num_read)


def gather_facts(collection: Collection, options: ReportOptions, show: Show = ignore_progress) -> Facts:
    """Read everything that a report needs about a collection.

    Args:
        collection: A dataset, or a source with its plan.
        options: What the report needs to know about the training.
        show: Receives the number of examples read.

    Raises:
        DataError: An index or a record is missing or damaged.
        MachineError: The disk or the network failed.
    """
    splits, features = collection.splits, collection.features
    total = sum(split.num_examples for split in splits)
    counts = total_class_counts(splits)
    groups = choose_classes(counts)
    labels = [label for group in groups for label in group.labels]
    wanted = PICTURES_OF_CLASS if labels else PICTURES_WITHOUT_CLASSES
    chooser = Chooser(labels or None, pictures_of_splits(len(splits), wanted) if splits else [])
    has_lists = LABELS in features
    most = np.argsort(-counts, kind="stable")[:PAIRED_LABELS]
    paired = [int(label) for label in most if counts[label]] if has_lists else []
    counted = count_examples(
        _counted(collection.batches(), show), len(splits), resize=options.resize, paired=paired, choosers=[chooser]
    )
    sample = evenly_spaced(total, BOX_SAMPLE)
    boxes = masks = numbers = None
    if OBJECT_LABELS in features:
        boxes = box_facts(collection.annotations(sample, OBJECT_LABELS))
    elif MASK in features:
        try:
            masks = mask_facts(collection.annotations(evenly_spaced(total, MASK_SAMPLE), MASK))
        except BadImage as error:
            raise DataError(
                f"{collection.place}: {error} Run `{shell_command('verify', deep=True)}` on the dataset"
            ) from None
    elif LABEL in features and features[LABEL].role == "scalar":
        numbers = number_facts(collection.annotations(sample, LABEL))
    return Facts(
        options=options,
        classes=collection.classes,
        splits=splits,
        is_dataset=collection.is_dataset,
        counted=counted,
        jpegs=jpeg_facts(collection.headers(evenly_spaced(total, HEADER_SAMPLE))),
        groups=groups,
        chosen={label: chooser.chosen(label) for label in (labels or [-1])},
        boxes=boxes,
        masks=masks,
        numbers=numbers,
        has_lists=has_lists,
        rejects=collection.rejects(REJECTED_SHOWN),
        hosts=options.hosts or collection.origin.hosts,
        is_resized=collection.origin.is_resized,
        split_by=collection.origin.split_by,
        place=collection.place,
        num_gps=collection.origin.num_gps,
        has_one_class=has_one_class(collection),
    )
