"""The output folder: what it may contain, which files shardkit wrote, and how an old dataset is removed."""

import contextlib
import json
from collections.abc import Set as AbstractSet
from typing import Any

from shardkit import naming, software
from shardkit.conversion.planning import plan_file
from shardkit.conversion.planning.rules import PLAN_VERSION_KEY, option_differences, reads_written_options
from shardkit.conversion.writing.output.finished_shards import REPORTS
from shardkit.dataset.export_list import own_exports
from shardkit.dataset.features import CLASS_LABELS, CLASSIFICATION, LABELS, OBJECT_LABELS
from shardkit.dataset.index.file import is_index
from shardkit.dataset.manifest import Manifest, find_dataset, read_manifest
from shardkit.dataset.tfds_metadata import DATASET_INFO, FEATURES, label_files
from shardkit.errors import CallError, DataError, ManifestError
from shardkit.options.call import Call
from shardkit.options.words import convert_again, named
from shardkit.sources.readings.values import STATED
from shardkit.sources.walking import ending
from shardkit.storage import TEMPORARY, Folder, open_folder

_CLASS_NAMES = label_files({**CLASSIFICATION, LABELS: CLASS_LABELS, OBJECT_LABELS: CLASS_LABELS})
_LISTS = {naming.REJECTED, naming.WITHDRAWN}
_DATASET_FILES = {naming.MANIFEST, *_LISTS, naming.RUN_LOG, DATASET_INFO, FEATURES, *_CLASS_NAMES}

_FOLDERS_LOOKED_INTO = 10

SOURCE_CHANGED = "the source's files, or the options that select and read them, have changed"
REMOVING = f"{naming.WORK_FOLDER}/removing.json"  # names that `clear` has not removed yet


def finished(output: Folder) -> Manifest | None:
    """Return the manifest of the finished dataset in the output, or None if there is none."""
    if output.stat(naming.MANIFEST) is None:
        return None
    return read_manifest(output.url)


def owned(output: Folder) -> set[str]:
    """Return the names of the files directly in the folder that shardkit wrote, and of the folders of appends.

    A name alone proves nothing: other programs write `train-00000-of-01024.tfrecord` and `manifest.json` too. A shard
    is ours if a valid manifest, the plan of an interrupted conversion, the list of an interrupted removal or its own
    index names it. The files next to the shards are ours if there is one of those, or a work folder. Nothing is ours
    where TFRecords of others were adopted.
    """
    entries = output.scan()
    names = {entry.name for entry in entries if not entry.is_folder}
    shard_files = set(filter(naming.is_shard_file, names))
    manifest = _own_manifest(output) if naming.MANIFEST in names else None
    if manifest is not None and manifest.is_adopted:  # its shards are files of others
        return set()
    ours = shard_files & _named(output, manifest)
    for index in sorted(shard_files - ours):
        if index.endswith(naming.INDEX_ENDING) and is_index(output.read(index)):
            ours |= {index, naming.records_of_index(index)} & names
    is_dataset = bool(ours) or any(entry.is_folder and entry.name == naming.WORK_FOLDER for entry in entries)
    exports = own_exports(output).keys() if is_dataset or manifest is not None else set[str]()
    if is_dataset or manifest is not None:
        ours |= names & {*_DATASET_FILES, *exports}
    folders = {entry.name for entry in entries if entry.is_folder and _is_own_folder(entry.name)}
    ours |= {name for name in folders if _foreign_file(open_folder(f"{output.url}/{name}"), name, exports) is None}
    return ours | {name for name in names if name.startswith(TEMPORARY)}


def _is_own_folder(name: str) -> bool:
    return name == naming.EARLIER_MANIFESTS or naming.is_generation_folder(name)


def _foreign_file(folder: Folder, name: str, exports: AbstractSet[str]) -> str | None:
    """Return the name of a file in a folder of appends that shardkit did not write; None if there is none.

    Exports are named by their paths from the dataset's folder on.
    """
    names = [entry.name for entry in folder.scan()]
    if name == naming.EARLIER_MANIFESTS:
        is_ours = (naming.is_earlier_manifest, naming.is_shard_table, lambda one: one.startswith(TEMPORARY))
        return next((one for one in names if not any(check(one) for check in is_ours)), None)
    ours = {*owned(folder), naming.WORK_FOLDER}
    return next((one for one in names if one not in ours and f"{name}/{one}" not in exports), None)


def _named(output: Folder, manifest: Manifest | None) -> set[str]:
    """Return what the manifest, the plan and the list of an interrupted removal name."""
    planned = plan_file.find_planned(output)
    shards = () if planned is None else planned.shard_counts
    named = {name for shard in shards for name in (shard.records, shard.index)}
    if manifest is not None:
        named.update(path for _, shard in manifest.shards() for path in (shard.path, shard.index.path))
    if output.stat(REMOVING) is not None:
        with contextlib.suppress(ValueError, TypeError, RecursionError):  # damaged: it names nothing
            named.update(json.loads(output.read(REMOVING)))
    return named


def _own_manifest(output: Folder) -> Manifest | None:
    try:
        return finished(output)
    except ManifestError:
        return None


def refuse_swapped(call: Call | None, output: Folder) -> None:
    """Refuse a conversion whose two paths were swapped: SOURCE is missing or a dataset, and OUTPUT has images."""
    if call is None or call.command != "convert" or len(call.sources) != 1 or call.target is None:
        return
    [source] = call.sources
    is_missing = open_folder(source).stat("") is None
    if not (is_missing or find_dataset(source)) or not _has_images(output):
        return
    right = call.with_paths((call.target,), source)
    what = "does not exist" if is_missing else "is a dataset"
    msg = f"SOURCE comes before OUTPUT: {source} {what}, and {call.target} holds images; did you mean `{right}`?"
    raise CallError(msg)


def _has_images(folder: Folder) -> bool:
    """Return whether a folder has images directly or in one of its first folders, and is no dataset."""
    entries = folder.scan()
    if any(entry.name in {naming.MANIFEST, naming.WORK_FOLDER} for entry in entries):
        return False
    below = [entry.name for entry in entries if entry.is_folder][:_FOLDERS_LOOKED_INTO]
    found = [*entries, *(entry for name in below for entry in open_folder(f"{folder.url}/{name}").scan())]
    return any(not entry.is_folder and ending(entry.name) in naming.IMAGE_ENDINGS for entry in found)


def refuse_foreign(output: Folder) -> None:
    """Refuse a folder that holds files which no conversion wrote; do not change anything in it."""
    there = output.stat("")
    if there is not None and not there.is_folder:
        raise CallError(f"{output.url}: is not a folder; choose a new or an empty folder")
    entries = output.scan()
    has_manifest = any(entry.name == naming.MANIFEST and not entry.is_folder for entry in entries)
    manifest = _own_manifest(output) if has_manifest else None
    if manifest is not None and manifest.is_adopted:
        place = manifest.records_place or "in this folder"
        raise CallError(
            f"{output.url}: this is a dataset of adopted TFRecords ({place}), which "
            "other programs wrote; shardkit never removes or replaces them, also not with "
            f"{named('overwrite', True)}; choose another "
            "OUTPUT, a new or an empty folder"
        )
    ours = owned(output) if entries else set()
    for entry in entries:
        if entry.name not in ours and not (entry.is_folder and entry.name == naming.WORK_FOLDER):
            name = entry.name
            if entry.is_folder and _is_own_folder(name):
                folder = open_folder(f"{output.url}/{name}")
                name = f"{name}/{_foreign_file(folder, name, own_exports(output).keys())}"
            raise CallError(
                f"{output.url}: holds {name!r}, which is not part of a dataset that shardkit wrote; "
                "choose a new or an empty folder (shardkit removes only what it wrote)"
            )


def refuse_different(output: Folder, wanted: dict[str, Any], *, has_recovered: bool = False) -> Manifest | None:
    """Refuse a finished or an interrupted conversion in the output that differs from this one.

    Other versions of libraries do not change a finished dataset. Those of an interrupted one must be restored, because
    a dataset has one set of them.

    `wanted` is Plan.description(), or the part of it that is known. With `has_recovered`, images are good now that the
    interrupted conversion rejected, so it differs by them. Return the finished dataset; None if there is none yet.
    """
    there = finished(output)
    if there is not None:
        if said := difference(description(there), {name: wanted[name] for name in wanted if name != "software"}):
            raise converted_differently(output.url, said)
        refuse_damaged(output, there)
        return there
    planned = plan_file.find_planned(output)
    pending = {} if planned is None else planned.description
    if planned is None:
        refuse_shards(output)
    elif (said := difference(pending, wanted)) and not (has_recovered and said == SOURCE_CHANGED):
        what = "append" if _is_generation(output.url) else "conversion"
        again = f"or start again with {named('overwrite', True)}"
        if restored := software.restoring_command(pending["software"]):
            msg = f"{output.url}: holds an interrupted {what} by other versions: {said}; to resume it, install "
            raise DataError(f"{msg}them with `{restored}` and use the same options, {again}")
        msg = f"{output.url}: holds an interrupted {what} that differs: {said}; "
        raise DataError(f"{msg}use the earlier options to resume it, {again}")
    return None


def converted_differently(url: str, said: str) -> DataError:
    """Return the error for an output that holds the dataset of another conversion."""
    if _is_generation(url):
        msg = (
            f"{url}: holds an append that is not published and differs: {said}; run the earlier command again to "
            f"finish it, or discard it with {named('overwrite', True)}"
        )
        return DataError(msg)
    msg = (
        f"{url}: holds a dataset converted differently: {said}; choose another folder, or replace it with "
        f"{named('overwrite', True)}"
    )
    return DataError(msg)


def _is_generation(url: str) -> bool:
    return naming.is_generation_folder(url.rpartition("/")[2])


def refuse_damaged(output: Folder, manifest: Manifest) -> None:
    """Refuse a finished dataset if one of its shards is missing or truncated."""
    # One listing for each folder: a stat per shard takes minutes on object stores.
    paths = (path for _, shard in manifest.shards() for path in (shard.path, shard.index.path))
    folders = sorted({path.rpartition("/")[0] for path in paths})
    sizes = {
        f"{folder}/{entry.name}" if folder else entry.name: entry.num_bytes
        for folder in folders
        for entry in output.scan(folder)
    }
    for _, shard in manifest.shards():
        for path, num_bytes in ((shard.path, shard.num_bytes), (shard.index.path, None)):
            found = sizes.get(path)
            if found is None or num_bytes not in {None, found}:
                what = "is missing" if found is None else f"has {found} bytes, not {num_bytes}"
                # Converting again would remove what was appended.
                remedy = "restore it from a copy" if manifest.generations else f"restore it or {convert_again()}"
                raise DataError(f"{output.url}/{path}: {what}; {remedy}")


def refuse_shards(output: Folder) -> None:
    """Refuse shards of shardkit without plan and manifest, because their source is unknown."""
    rest = sorted(owned(output) - {naming.RUN_LOG})
    if rest:
        raise DataError(
            f"{output.url}: holds {rest[0]!r} of a dataset without a manifest; replace it with "
            f"{named('overwrite', True)}"
        )


@reads_written_options
def description(manifest: Manifest) -> dict[str, Any]:
    """Return the description of a dataset's first conversion, in the form of Plan.description()."""
    first = manifest.history[0]
    return {
        PLAN_VERSION_KEY: first.options[PLAN_VERSION_KEY],
        "name": manifest.name,
        "source": first.source.fingerprint,
        "layout": first.source.layout,
        "classes": manifest.classes[: first.num_classes],
        "options": {name: value for name, value in first.options.items() if name != PLAN_VERSION_KEY},
        "software": first.software,
    }


def difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Return the differences of two descriptions as text; empty if they agree in every key of `wanted`."""
    said = []
    for name, after in json.loads(json.dumps(wanted)).items():
        before = found.get(name)
        if before == after:
            continue
        if name == "software":
            said.append(software.difference(before or {}, after, ignored=software.OPTIONAL))
        elif name == "options" and isinstance(before, dict):
            said += option_differences(before, after)
        elif name == "name":
            said.append(f"{named('name')} was {before} and is {after}")
        elif name == "layout":
            if STATED not in {before, after}:  # else the source's fingerprint tells whether they are read differently
                said.append(f"the layout was {before} and is {after}")
        elif name == PLAN_VERSION_KEY:
            said.append("another version of shardkit planned it")
        else:
            said.append(SOURCE_CHANGED if name == "source" else f"the {name} have changed")
    return ", ".join(filter(None, said))


def clear(output: Folder) -> None:
    """Remove a dataset or the rest of one; the manifest first, so that a partial dataset never looks complete.

    The names are written to a file first: after an interruption, manifest and plan may be gone.
    """
    doomed = sorted(owned(output) - {naming.RUN_LOG})
    if doomed:
        with output.atomic_write(REMOVING) as file:
            file.write(json.dumps(doomed).encode())
    if naming.MANIFEST in doomed:
        output.remove(naming.MANIFEST)
    plan_file.remove_plan(output)
    output.remove_tree(REPORTS)
    for name in doomed:
        if _is_own_folder(name):
            output.remove_tree(name)
        else:
            output.remove(name)
    output.remove(REMOVING)
