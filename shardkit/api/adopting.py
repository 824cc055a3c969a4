"""`shardkit.adopt`."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError
from shardkit.extras import require_extra
from shardkit.options.groups import OPTIONS
from shardkit.options.values import LabelType
from shardkit.options.words import named

if TYPE_CHECKING:
    from shardkit.dataset.manifest import Manifest
    from shardkit.parallel.progress import ProgressListener

__all__ = ["adopt"]


@suggest_arguments(other_words={"splits": "it takes the files of each split as split_files={NAME: PATTERN}"})
def adopt(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    into: str | os.PathLike[str] | None = None,
    split_files: Mapping[str, str] | str | None = None,
    classes: Sequence[str] | None = None,
    image_feature: str | None = None,
    label_feature: str | None = None,
    label_type: LabelType = "auto",
    unlabelled: bool = False,
    key_feature: str | None = None,
    name: str | None = None,
    overwrite: bool = False,
    workers: int | None = None,
    beam_options: Sequence[str] = (),
    listener: "ProgressListener | None" = None,
) -> "Manifest":
    """Give TFRecords that others wrote a manifest and indexes, so that the whole reader works; the same as ``adopt``.

    The TFRecords are read once and never changed.

    Args:
        files: Files, folders or patterns of uncompressed TFRecords; local, s3:// or gs://.
        into: Local folder for the manifest and the indexes, which point to the files by relative paths; None to write
            them next to the files, into the folder that these have in common.
        split_files: Pattern of the paths of each split's files: ``{"train": "fold[0-3]*", "test": "fold4*"}``; or the
            split of all files. None for what the names of folders and files say.
        classes: Class names, in the order of the labels' numbers; None for those of TFDS's files or of the records,
            else numbers. If `overwrite` replaces an adoption that was given names, None keeps these.
        image_feature: Feature that holds the encoded image; None to detect it.
        label_feature: Feature that holds the label, or a mask; None to detect it.
        label_type: Whether labels are classes or numbers for regression.
        unlabelled: Whether the records have no labels.
        key_feature: Feature whose texts are the keys; None to use one that names the image if its texts are unique,
            else the file and the record's number.
        name: Name of the dataset; None for that of its folder.
        overwrite: Whether to replace the manifest and the indexes of an earlier adoption.
        workers: Number of threads in this process; None for one per core, or with `beam_options`.
        beam_options: Options of Apache Beam, ``--runner`` among them, to scan the files on a runner; none to scan them
            in threads of this process.
        listener: Receives messages and progress; None for no output.

    Returns:
        The manifest.

    Raises:
        CallError: An argument is wrong or does not fit the files, or the folder has the manifest of something else.
        MissingExtraError: The packages of the extra ``convert`` are not installed.
        DataError: A file is compressed, damaged or no TFRecord, or its records cannot be read as they are.
        MachineError: The disk, the network or the runner failed.
    """
    require_extra("convert", "adopting", "PIL")
    label_type = OPTIONS["label_type"].form.read("label_type", label_type)
    names = None if classes is None else OPTIONS["classes"].form.read("classes", classes)
    from shardkit.adoption.adopting import AdoptOptions, adopt_files
    from shardkit.api.advice import answering
    from shardkit.api.executors import make_executor
    from shardkit.dataset.manifest import read_manifest
    from shardkit.options.call import Call
    from shardkit.parallel.progress import Silent

    given = [os.fspath(one) for one in ([files] if isinstance(files, str | os.PathLike) else files)]
    if unlabelled and (label_feature is not None or label_type != "auto"):
        no_labels, feature, kind = named("unlabelled"), named("label_feature"), named("label_type")
        raise CallError(f"{no_labels} says that there are no labels, and {feature} or {kind} describes them; give one")
    pattern_of = {split_files: "*"} if isinstance(split_files, str) else dict(split_files or {})
    options = AdoptOptions(
        into=None if into is None else os.fspath(into),
        splits={pattern: split for split, pattern in pattern_of.items()},
        classes=names,
        image_feature=image_feature,
        label_feature=label_feature,
        label_type=label_type,
        unlabelled=unlabelled,
        key_feature=key_feature,
        name=name,
        overwrite=overwrite,
    )
    shown = listener or Silent()
    executor = make_executor(beam_options, workers, shown.say, FILES=given[0] if given else "")
    with answering(Call("adopt", tuple(given))):
        return read_manifest(adopt_files(given, options, executor, shown))
