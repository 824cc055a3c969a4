"""Open TFRecord files: decide what their records mean, and where the names of their classes come from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shardkit.dataset.foreign.file_names import missing_shards
from shardkit.dataset.foreign.found_features import Sampled, find_features, listed
from shardkit.dataset.foreign.inferring import LayoutOverrides, infer_layout
from shardkit.dataset.foreign.label_names import LabelNames, lines_as_names, numbered_names
from shardkit.dataset.foreign.record_layout import LabelFeature, RecordLayout
from shardkit.dataset.foreign.tfds_folder import (
    DATASET_INFO,
    FEATURES,
    LABELS_ENDING,
    TfdsFeatures,
    labels_file,
    read_labels,
    read_tfds_features,
    shard_lengths,
)
from shardkit.errors import DataError
from shardkit.naming import counted, printable
from shardkit.sources.context import Opening
from shardkit.sources.options import SourceOptions
from shardkit.sources.packed.tfrecord.files import WHOLE_FILES, FoundFiles, TfrecordFile, find_files, sample
from shardkit.sources.packed.tfrecord.layout import Tfrecords
from shardkit.sources.walking import children
from shardkit.storage import Folder, os_errors_as

# TFRecorder numbers text labels by TensorFlow Transform's vocabulary and stores it there (beam_pipeline.py).
_VOCABULARIES, _VOCABULARY = "transform_fn/assets", "vocab_"
_SLIM_LABELS = "labels.txt"  # of tensorflow/models, research/slim: "0:daisy"
_FILES_NAMED = 3


def open_tfrecord(opening: Opening) -> Tfrecords:
    """Find TFRecord files, and decide from the first records what their features mean.

    Raises:
        CallError: Several features may be the image or the label, or the classes cannot name the numbers.
        UnknownNameError: A feature that the options name does not exist.
        DataError: There is no such file, one is something else, or the records have no image or no label.
    """
    folder, options, named = opening.folder, opening.options, opening.paths
    found = find_files(folder, opening.excluded, named)
    tfds = _tfds(folder)
    samples = sample(folder, found.files)
    find_features([one for several in samples.values() for one in several])  # refuses a feature of two kinds
    sampled = [one for file in found.files[:WHOLE_FILES] for one in samples[file.path]]
    overrides = LayoutOverrides(options.image_feature, options.label_feature, options.label_type, options.classes)
    has_splits = any(file.split for file in found.files)
    try:
        layout = infer_layout(sampled, overrides, tfds=tfds, has_splits=has_splits)
    except DataError as error:
        msg = f"{folder.url}: {error}"
        raise DataError(msg) from None
    _refuse_mixed(folder, found.files, samples, layout)
    names = _names(folder, layout.label, sampled, options)
    if names is not None:
        layout = replace(layout, label=replace(layout.label, names=None))
    group = next((one.name for one in layout.columns if one.name == options.group_by and not one.is_list), None)
    is_spooled = layout.image.form != "encoded" or any(file.compression for file in found.files)
    announced = _announced(folder)
    files = tuple(replace(file, num_records=announced.get(file.path)) for file in found.files)
    return Tfrecords(
        opening.work_folder() if is_spooled else folder,
        folder,
        files,
        layout,
        names,
        group,
        is_spooled,
        len(named) == 1,
        found.skipped,
        _remarks(found, layout.label, names, sampled),
        options.keep_truncated,
    )


def _tfds(folder: Folder) -> TfdsFeatures | None:
    features, info = _read(folder, FEATURES), _read(folder, DATASET_INFO)
    return None if features is None else read_tfds_features(features, info, folder.url)


def _announced(folder: Folder) -> Mapping[str, int]:
    info = _read(folder, DATASET_INFO)
    return {} if info is None else shard_lengths(info, folder.url)


def _read(folder: Folder, path: str) -> bytes | None:
    with os_errors_as("read", f"{folder.url}/{path}"):
        return None if folder.stat(path) is None else folder.read(path)


def _refuse_mixed(
    folder: Folder, files: Sequence[TfrecordFile], samples: Mapping[str, Sequence[Sampled]], layout: RecordLayout
) -> None:
    """Refuse files without the image or the label that others have, such as a test set without labels.

    Raises:
        DataError: There are some.
    """
    image, label = layout.image, layout.label
    needed = {image.name, image.height, image.width} - {None}
    if label.kind in {"class", "numbers"}:
        needed |= {label.name}
    lacking = [file for file in files if _missing(needed, samples[file.path])]
    # One record of a file may be a bad one: look at more of them.
    first = {file.path: found for file in lacking for found in sample(folder, [file]).values()}
    lacking = [file for file in lacking if _missing(needed, first[file.path])]
    if not lacking:
        return
    missing = min(str(one) for one in _missing(needed, first[lacking[0].path]))
    more = f" and {len(lacking) - _FILES_NAMED:,} more" if len(lacking) > _FILES_NAMED else ""
    named = ", ".join(printable(file.path) for file in lacking[:_FILES_NAMED]) + more
    msg = (
        f"{folder.url}: the records of {named} have no feature {missing!r}, and those of other files have one. Leave "
        f"these files out, with --ignore '{printable(lacking[0].path)}' or a pattern; found in them:"
        f"{listed(find_features(first[lacking[0].path]))}"
    )
    raise DataError(msg)


def _missing(needed: set[str | None], sampled: Sequence[Sampled]) -> set[str | None]:
    return needed - {name for one in sampled for name, values in one.features.items() if values}


def _names(
    folder: Folder, label: LabelFeature, sampled: Sequence[Sampled], options: SourceOptions
) -> LabelNames | None:
    """Return the names of a label's numbers that a file has; None if there is none, or they are not wanted."""
    if label.is_text or label.kind == "numbers":
        return None
    if options.classes is not None:
        numbers = {str(value) for _, features in sampled for value in features.get(label.name, [])}
        is_named = label.names is not None or numbers <= set(options.classes)
        return None if is_named else lines_as_names(options.classes, label.first_line)
    files = {entry.name for entry in children(folder) if not entry.is_folder and entry.name.endswith(LABELS_ENDING)}
    path = labels_file(label.name)
    if path not in files and len(files) == 1 and label.names is None:
        path = next(iter(files))
    if path in files and (names := read_labels(_read(folder, path) or b"", f"{folder.url}/{path}")):
        return LabelNames(names, 0, path)
    if label.names is None and (content := _read(folder, _SLIM_LABELS)) is not None:
        lines = read_labels(content, f"{folder.url}/{_SLIM_LABELS}")
        if numbered := numbered_names(lines, _SLIM_LABELS):
            return numbered
    vocabularies = [one.name for one in children(folder, _VOCABULARIES) if one.name.startswith(_VOCABULARY)]
    if len(vocabularies) == 1 and label.names is None:
        path = f"{_VOCABULARIES}/{vocabularies[0]}"
        return LabelNames(read_labels(_read(folder, path) or b"", f"{folder.url}/{path}"), 0, path)
    return None


def _remarks(
    found: FoundFiles, label: LabelFeature, names: LabelNames | None, sampled: Sequence[Sampled]
) -> tuple[str, ...]:
    remarks = []
    if not label.is_text and label.kind != "numbers" and names is None:
        numbers = sorted({value for _, features in sampled for value in features.get(label.name, [])})
        if numbers and label.names:
            texts = {
                number: text
                for _, features in sampled
                for number, text in zip(features.get(label.name, []), features.get(label.names, []), strict=False)
            }
            first = texts[numbers[0]]
            shown = first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)
            remarks.append(f"names     in the order of their numbers; {numbers[0]!s} is {printable(shown)!r}")
        elif numbers:
            known = f"{counted(len(sampled), 'sampled record')} hold {numbers[0]!s} to {numbers[-1]!s}"
            remarks.append(f"names     the numbers themselves, {known}; --classes FILE names them")
    if found.empty:
        remarks.append(f"note      {counted(len(found.empty), 'file')} without records, such as {found.empty[0]}")
    remarks += [
        f"note      missing: {phrase}" for phrase in missing_shards([*(f.path for f in found.files), *found.empty])
    ]
    return tuple(remarks)
