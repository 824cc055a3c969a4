"""`shardkit.verify`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardkit.arguments.suggestions import suggest_arguments
from shardkit.extras import require_extra
from shardkit.options.words import named

if TYPE_CHECKING:
    from shardkit.dataset.manifest import Manifest
    from shardkit.parallel.progress import ProgressListener
    from shardkit.verification.shards import DatasetProblem

__all__ = ["Verification", "verify"]


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` found.

    Attributes:
        manifest: The dataset's manifest; None if it cannot be read, which is a problem.
        problems: Every problem: its file, the number of the record and what was found.
        leaks: Groups and images that are in more than one split; () if they were not looked for.
        other_files: Names in the folder that no conversion wrote and that no reader reads; no problem.
    """

    manifest: "Manifest | None"
    problems: "tuple[DatasetProblem, ...]"
    leaks: "tuple[DatasetProblem, ...]" = ()
    other_files: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no problems and no leaks."""
        return not self.problems and not self.leaks


@suggest_arguments()
def verify(
    dataset: str | os.PathLike[str],
    *,
    deep: bool = False,
    leaks: bool = False,
    workers: int | None = None,
    beam_options: Sequence[str] = (),
    listener: "ProgressListener | None" = None,
) -> Verification:
    """Check every byte of a dataset: framing, CRCs, counts, sha256, indexes, manifest; the same as ``shardkit verify``.

    Args:
        dataset: The dataset's folder, local or s3:// or gs://, or its ``manifest.json``; ``OUT@sha256:…`` with the
            digest of a manifest is the dataset as it was with it.
        deep: Whether every image is decoded too.
        leaks: Whether groups and images are looked for that are in more than one split.
        workers: Number of threads in this process; None for one per core, or with `beam_options`.
        beam_options: Options of Apache Beam, ``--runner`` among them; none for threads of this process.
        listener: Receives progress; None for no output.

    Returns:
        The problems, leaks and other files.

    Raises:
        CallError: An argument is wrong.
        MissingExtraError: The packages of the extra ``convert`` are not installed, and `deep` needs them.
        DataError: There is no such folder.
        MachineError: The disk, the network or the runner failed.
    """
    if deep:
        require_extra("convert", f"verify with {named('deep')}, which decodes the images,")
    from shardkit.api.executors import make_executor
    from shardkit.dataset.manifest import dataset_folder, read_manifest
    from shardkit.dataset.manifest.pinning import pinned
    from shardkit.parallel.progress import Silent
    from shardkit.verification.dataset import verify_dataset
    from shardkit.verification.folder_contents import other_names
    from shardkit.verification.leaks import leak_problems

    location, shown = os.fspath(dataset), listener or Silent()
    root, digest = dataset_folder(location), pinned(location)[1]
    executor = make_executor(beam_options, workers, shown.say, DATASET=root.url)
    manifest, problems = verify_dataset(root, executor, shown, deep=deep, digest=digest)
    if manifest is None:
        return Verification(None, tuple(problems))
    leaked: list[DatasetProblem] = []
    if leaks:
        with shown.phase("comparing", None):
            leaked = leak_problems(read_manifest(location), problems, shown)
    return Verification(manifest, tuple(problems), tuple(leaked), tuple(other_names(root, manifest)))
