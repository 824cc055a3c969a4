"""Open TFRecord files: decide what their records mean, and where the names of their classes come from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shardkit.dataset.foreign.files import WHOLE_FILES, ForeignFiles
from shardkit.dataset.foreign.found_features import Sampled, find_features, listed
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.dataset.foreign.label_names import LabelNames, lines_as_names
from shardkit.dataset.foreign.record_layout import LabelFeature, RecordLayout
from shardkit.errors import DataError
from shardkit.naming import counted, printable
from shardkit.options.words import named
from shardkit.record_sources.tfrecord.files import find_files
from shardkit.record_sources.tfrecord.layout import Tfrecords
from shardkit.sources.options import Opening, SourceOptions

_FIRST_RECORDS = 64  # of the first file, which decide what the features mean
_FILES_NAMED = 3


def open_tfrecord(opening: Opening) -> Tfrecords:
    """Find TFRecord files, and decide from the first records what their features mean."""
    folder, options, paths = opening.folder, opening.options, opening.paths
    found, skipped = find_files(folder, opening.excluded, paths)
    samples = found.sample(found.files, _FIRST_RECORDS, 1)
    find_features([one for several in samples.values() for one in several])  # refuses a feature of two kinds
    sampled = [one for file in found.files[:WHOLE_FILES] for one in samples[file.path]]
    overrides = LayoutOverrides(options.image_feature, options.label_feature, options.label_type, options.classes)
    layout = found.infer_layout(sampled, overrides, has_splits=any(file.split for file in found.files))
    _refuse_mixed(found, samples, layout)
    names = _names(found, layout.label, sampled, options)
    if names is not None:
        layout = replace(layout, label=replace(layout.label, names=None))
    group = next((one.name for one in layout.columns if one.name == options.group_by and not one.is_list), None)
    is_spooled = layout.image.form != "encoded" or any(file.compression for file in found.files)
    return Tfrecords(
        opening.work_folder() if is_spooled else folder,
        folder,
        found.files,
        layout,
        names,
        group,
        is_spooled,
        len(paths) == 1,
        skipped,
        _remarks(found, layout.label, names, sampled),
        options.keep_truncated,
    )


def _refuse_mixed(files: ForeignFiles, samples: Mapping[str, Sequence[Sampled]], layout: RecordLayout) -> None:
    """Refuse files without the image or the label that others have, such as a test set without labels."""
    image, label = layout.image, layout.label
    needed = {image.name, image.height, image.width} - {None}
    if label.kind in {"class", "numbers"}:
        needed |= {label.name}
    lacking = [file for file in files.files if _missing(needed, samples[file.path])]
    # One record of a file may be a bad one: look at more of them.
    first = files.sample(lacking, _FIRST_RECORDS, _FIRST_RECORDS)
    lacking = [file for file in lacking if _missing(needed, first[file.path])]
    if not lacking:
        return
    missing = min(str(one) for one in _missing(needed, first[lacking[0].path]))
    more = f" and {len(lacking) - _FILES_NAMED:,} more" if len(lacking) > _FILES_NAMED else ""
    some = ", ".join(printable(file.path) for file in lacking[:_FILES_NAMED]) + more
    msg = (
        f"{files.folder.url}: the records of {some} have no feature {missing!r}, and those of other files have one. "
        f"Leave these files out, with {named('ignore', printable(lacking[0].path))} or a pattern; found in them:"
        f"{listed(find_features(first[lacking[0].path]))}"
    )
    raise DataError(msg)


def _missing(needed: set[str | None], sampled: Sequence[Sampled]) -> set[str | None]:
    return needed - {name for one in sampled for name, values in one.features.items() if values}


def _names(
    files: ForeignFiles, label: LabelFeature, sampled: Sequence[Sampled], options: SourceOptions
) -> LabelNames | None:
    """Return the names of a label's numbers that a file has; None if there is none, or they are not wanted."""
    if label.is_text or label.kind == "numbers":
        return None
    if options.classes is not None:
        numbers = {str(value) for _, features in sampled for value in features.get(label.name, [])}
        is_named = label.names is not None or numbers <= set(options.classes)
        return None if is_named else lines_as_names(options.classes, label.first_line)
    return files.label_names(label, {name for _, features in sampled for name in features})


def _remarks(
    found: ForeignFiles, label: LabelFeature, names: LabelNames | None, sampled: Sequence[Sampled]
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
            remarks.append(f"names     the numbers themselves, {known}; {named('classes')} names them")
    if found.empty:
        first_empty = printable(found.empty[0].path)
        remarks.append(f"note      {counted(len(found.empty), 'file')} without records, such as {first_empty}")
    return (*remarks, *(f"note      missing: {phrase}" for phrase in found.missing_shards()))
