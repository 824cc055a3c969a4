"""Options of the conversion of appended examples: those of the dataset, unless the user overrules them."""

from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from shardkit.dataset.manifest import Manifest
from shardkit.images.stored.options import StoredForm, parse_size
from shardkit.planning.options import ConvertOptions
from shardkit.planning.user_call import UserCall
from shardkit.planning.written_options import reads_written_options
from shardkit.sources import SourceOptions

# Number of shards: the dataset's would be too many for a small part, so it follows from the size.
_KEPT = ("splits", "splits_of", "split_by", "shard_bytes", "pipelines", "seed", "check", "group_by", "dedupe")


@reads_written_options
def generation_options(manifest: Manifest, changed: Mapping[str, Any]) -> ConvertOptions:
    """Return the options.

    Args:
        manifest: The dataset's current manifest. Its options are those of its first conversion.
        changed: Options that the user overrules, by their names in ConvertOptions.

    Raises:
        CallError: The options do not go together.
    """
    written = manifest.options
    names = (*_KEPT, *(one.name for one in fields(StoredForm)))
    kept = {name: _value(name, written[name]) for name in names if name in written}
    made = {**kept, "name": manifest.name, "appended_to": manifest.digest, **changed}
    return ConvertOptions(**made)


def _value(name: str, written: Any) -> Any:
    """Return an option's value; the inverse of ConvertOptions.as_json."""
    if name == "splits":
        return None if written is None else {split: Fraction(share) for split, share in written.items()}
    if name == "splits_of":
        return tuple(written)
    return parse_size(written) if name == "size" and written is not None else written


def with_dataset_classes(source_options: SourceOptions, manifest: Manifest) -> SourceOptions:
    """Return the options of a source in whose tables whole numbers are numbers of the dataset's classes.

    If the classes are whole numbers themselves, the numbers in a table are names.
    """
    if not manifest.classes or all(name.removeprefix("-").isdecimal() for name in manifest.classes):
        return source_options
    return replace(source_options, classes=tuple(manifest.classes))


def append_call(dataset: str, source: str, source_options: SourceOptions, changed: Mapping[str, Any]) -> UserCall:
    """Return the user's call, for the commands in errors.

    Args:
        dataset: DATASET as the user wrote it.
        source: SOURCE as the user wrote it.
        source_options: Options of the source that the user gave.
        changed: See generation_options.
    """
    call = UserCall.of(source, source_options, ConvertOptions(**changed))
    # None is the default of a conversion, but not of an addition: it keeps the dataset's shares.
    own = (("--splits", "own"),) if changed.get("splits", ()) is None else ()
    options, of_conversion = (*call.options, *own), (*call.of_conversion, *own)
    return replace(call, dataset=dataset, options=options, of_conversion=of_conversion)
