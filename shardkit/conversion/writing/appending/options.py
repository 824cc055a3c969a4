"""Options of the conversion of appended examples: those of the dataset, unless the user overrules them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shardkit.conversion.planning.options_text import reads_written_options
from shardkit.conversion.planning.rules import rules_of
from shardkit.dataset.manifest import Manifest
from shardkit.options.definition import written_options
from shardkit.options.groups import ConvertOptions
from shardkit.sources import SourceOptions

# Options that may differ for appended examples.
OVERRULED = (
    *(one.name for one in written_options().values() if one.rule == "changeable" or one.name == "shards"),
    "accept",
)


@reads_written_options
def generation_options(manifest: Manifest, changed: Mapping[str, Any]) -> ConvertOptions:
    """Return the options.

    The options of a manifest are those of its first conversion.
    """
    values = {**rules_of(manifest.options), "name": manifest.name, **changed}
    return ConvertOptions.of(values, appended_to=manifest.digest, overruled=frozenset(changed))


def as_in_dataset(source_options: SourceOptions, options: ConvertOptions, manifest: Manifest) -> SourceOptions:
    """Return the options of a source that is read like the dataset's.

    The column of the dataset's groups is read, and whole numbers in a table are numbers of the dataset's classes; they
    are names if the classes are whole numbers themselves.
    """
    source_options = replace(source_options, group_by=options.splits.group_by)
    if not manifest.classes or all(name.removeprefix("-").isdecimal() for name in manifest.classes):
        return source_options
    return replace(source_options, classes=tuple(manifest.classes))
