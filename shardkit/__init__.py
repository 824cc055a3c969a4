"""shardkit: folders of labelled images to balanced TFRecord shards, and the tf.data input function over them.

``import shardkit`` loads neither TensorFlow nor Beam nor any other large library.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardkit.comparison import DatasetDiff
    from shardkit.dataset.manifest import Manifest
    from shardkit.records import Examples, Sampler
    from shardkit.records.sampler_call import OrderName, Sampling

from shardkit.adoption_api import adopt
from shardkit.api import convert, plan
from shardkit.appending import append
from shardkit.arguments.suggestions import suggest_arguments
from shardkit.software import __version__

__all__ = ["__version__", "adopt", "append", "convert", "diff", "open", "plan", "read_manifest", "sampler"]


def read_manifest(path: str) -> "Manifest":
    """Read the manifest of a dataset.

    Args:
        path: The dataset's folder, local or s3:// or gs://, or its ``manifest.json``. ``OUT@sha256:…`` with the digest
            of a manifest is the dataset as it was with that manifest, before later appends.

    Raises:
        shardkit.errors.CallError: What follows ``@sha256:`` is not a digest.
        shardkit.errors.ManifestError: The manifest is missing or damaged, was written by a newer version, or names a
            path outside its folder.
    """
    from shardkit.dataset.manifest import read_manifest

    return read_manifest(path)


def diff(a: str, b: str, *, num_keys: int = 5) -> "DatasetDiff":
    """Compare two datasets example by example; the same as ``shardkit diff``.

    Args:
        a: The folder of the first dataset, local or s3:// or gs://, or its ``manifest.json``.
        b: The second dataset.
        num_keys: Number of keys to return of each kind of difference.

    Returns:
        The differences: ``found.equal``, ``found.label.num_examples``, ``found.moved.first[0].key``.

    Raises:
        shardkit.errors.DataError: A dataset or an index is missing or damaged.
        shardkit.errors.MachineError: One cannot be read.
    """
    from shardkit.comparison import diff_datasets
    from shardkit.dataset.manifest import read_manifest

    return diff_datasets(read_manifest(str(a)), read_manifest(str(b)), num_keys=num_keys)


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
    from shardkit.records import Examples

    return Examples(str(dataset), split, where)


@suggest_arguments(
    other_words={
        "batch_size": "global_batch_size= is the number of examples of a step over all workers",
        "rank": "worker_index= is the rank, num_workers= the number of ranks",
        "num_replicas": "num_workers= is the number of ranks, worker_index= the rank",
        "world_size": "num_workers= is the number of ranks, worker_index= the rank",
        "shuffle": "each epoch is another permutation; without shuffling, no sampler is needed",
        "drop_last": "batches are always whole, and continue in the next epoch",
        "epoch": "start_step= is the step to start at",
    },
    example="shardkit.sampler('OUT', 'train', global_batch_size=64)",
)
def sampler(
    dataset: str,
    split: str,
    *,
    global_batch_size: int,
    num_workers: int = 1,
    worker_index: int | None = None,
    seed: int = 0,
    start_step: int = 0,
    num_steps: int | None = None,
    order: "OrderName" = "full",
    sampling: "Sampling" = "natural",
    where: str | None = None,
) -> "Sampler":
    """Return the order of training as indices of ``shardkit.open(dataset, split, where=where)``, without TensorFlow.

    The global batches are those of ``shardkit.reader.make_dataset_fn`` with the same arguments, for any number of
    workers. For PyTorch it is a ``sampler``, its ``batches`` a ``batch_sampler``; ``grain()`` gives Grain's.

    Args:
        dataset: The dataset's folder, local or s3:// or gs://, or its ``manifest.json``.
        split: Name of the split.
        global_batch_size: Examples of a step over all workers; a multiple of `num_workers`.
        num_workers: Number of training processes (ranks) that each read their own part of every batch. The worker
            processes of a ``DataLoader`` do not count.
        worker_index: Number of this process, from 0; required with several workers.
        seed: Seed of the order, 0 to 2**63 - 1.
        start_step: Global step to start at, which resumes a training.
        num_steps: Number of steps of an iteration; None for an endless one. ``steps_per_epoch`` is the number that
            returns every example at least once.
        order: "full" is a permutation of all examples, a new one each epoch. "block", or a
            ``shardkit.order.BlockOrder``, permutes blocks of consecutive records and shuffles a bounded number of them
            together.
        sampling: "natural" returns every example once per epoch, "class_balanced" every class equally often; or weights
            by class name.
        where: A condition on the index; the indices are those of the sequence with the same condition.

    Raises:
        shardkit.errors.DataError: The dataset or an index is missing or damaged.
        shardkit.errors.UnknownNameError: There is no such split or class.
        shardkit.errors.CallError: An argument is wrong, arguments do not go together, or the split cannot fill a batch.
    """
    from shardkit.records.sampler_call import make_sampler

    return make_sampler(
        str(dataset),
        split=split,
        global_batch_size=global_batch_size,
        num_workers=num_workers,
        worker_index=worker_index,
        seed=seed,
        start_step=start_step,
        num_steps=num_steps,
        order=order,
        sampling=sampling,
        where=where,
    )
