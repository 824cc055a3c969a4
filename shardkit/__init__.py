"""shardkit: folders of labelled images to balanced TFRecord shards, and the tf.data input function over them.

``import shardkit`` loads neither TensorFlow nor Beam nor any other large library, and the modules of most public names
only when they are used: the command line answers Ctrl-C as soon as this module is loaded.
"""

import importlib
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from shardkit.api.adopting import adopt
    from shardkit.api.appending import append
    from shardkit.api.converting import convert, plan
    from shardkit.api.verifying import Verification, verify
    from shardkit.comparison import DatasetDiff
    from shardkit.conversion.planning.checks.finding import Finding
    from shardkit.conversion.planning.plan import Plan
    from shardkit.conversion.writing.appending.append import AppendOutcome
    from shardkit.conversion.writing.conversion import Outcome
    from shardkit.dataset.manifest import Manifest
    from shardkit.fetch import Skip
    from shardkit.options.groups import Facts, Folders, Selection, Shards, Splits, Stored, Table, TFRecord
    from shardkit.programs.checkpoints import check_checkpoints
    from shardkit.records import Examples
    from shardkit.records.sampler import Sampler
    from shardkit.records.sampler_call import sampler
    from shardkit.software import __version__

# The groups of options that `convert`, `plan` and `append` take.
_GROUPS = ("Facts", "Folders", "Selection", "Shards", "Splits", "Stored", "TFRecord", "Table")
# What the functions return.
_RESULTS = {
    "AppendOutcome": "shardkit.conversion.writing.appending.append",
    "Examples": "shardkit.records",
    "Finding": "shardkit.conversion.planning.checks.finding",
    "Outcome": "shardkit.conversion.writing.conversion",
    "Plan": "shardkit.conversion.planning.plan",
    "Sampler": "shardkit.records.sampler",
    "Verification": "shardkit.api.verifying",
}
__all__ = [
    "AppendOutcome",
    "Examples",
    "Facts",
    "Finding",
    "Folders",
    "Outcome",
    "Plan",
    "Sampler",
    "Selection",
    "Shards",
    "Splits",
    "Stored",
    "TFRecord",
    "Table",
    "Verification",
    "__version__",
    "adopt",
    "append",
    "check_checkpoints",
    "convert",
    "diff",
    "open",
    "plan",
    "read_manifest",
    "sampler",
    "verify",
]

_MODULES = {  # public names, and the modules that are loaded for them
    "__version__": "shardkit.software",
    "adopt": "shardkit.api.adopting",
    "append": "shardkit.api.appending",
    "check_checkpoints": "shardkit.programs.checkpoints",
    "convert": "shardkit.api.converting",
    "plan": "shardkit.api.converting",
    "sampler": "shardkit.records.sampler_call",
    "verify": "shardkit.api.verifying",
    **dict.fromkeys(_GROUPS, "shardkit.options.groups"),
    **_RESULTS,
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return globals().setdefault(name, getattr(importlib.import_module(_MODULES[name]), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


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

    return diff_datasets(read_manifest(a), read_manifest(b), num_keys=num_keys)


def open(  # noqa: A001 - read as shardkit.open
    dataset: str,
    split: str,
    *,
    where: str | None = None,
    fold: tuple[int, int] | None = None,
    take: int | None = None,
    training: bool = True,
    on_corrupt: "Literal['error', 'skip'] | Skip" = "error",
    seed: int = 0,
) -> "Examples":
    """Open the examples of a split as a sequence, without TensorFlow; needs Pillow for pictures.

    Args:
        dataset: The dataset's folder, local or s3:// or gs://, or its ``manifest.json``.
        split: Name of the split.
        where: A condition on the index, such as ``"label_name = 'cat' and height >= 64"``; None for all examples.
        fold: (index, count) for cross-validation: with ``training=False`` the examples of one of `count` folds, with
            ``training=True`` those of all others. None for all examples.
        take: Number of examples to keep, always the same ones; None for all.
        training: See `fold`.
        on_corrupt: "error" stops at a damaged record and names it; "skip", or a ``shardkit.fetch.Skip``, replaces it by
            another example of its class, the same one as ``shardkit.reader`` with the same seed.
        seed: The sampler's seed, which decides what replaces a damaged record.

    Returns:
        A sequence of mappings: ``examples[0]["label"]``, ``examples["cats/1.jpg"].image()``. It has length, slices and
        iteration, is pickled as the dataset's path, and keeps no file open.

    Raises:
        shardkit.errors.DataError: The dataset or an index is missing or damaged.
        shardkit.errors.UnknownNameError: There is no such split.
        shardkit.errors.CallError: An argument is wrong.
    """
    from shardkit.arguments.checks import folder
    from shardkit.records import Examples

    return Examples(
        folder("dataset", dataset),
        split,
        where,
        fold=fold,
        take=take,
        training=training,
        on_corrupt=on_corrupt,
        seed=seed,
    )
