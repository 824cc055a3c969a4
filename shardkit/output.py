"""The folder converted into: what may be there before, and how an old dataset is taken away."""

from typing import Any

from shardkit import naming
from shardkit.errors import CallError, DataError
from shardkit.features import CLASS_LABELS, CLASSIFICATION, LABELS, OBJECT_LABELS, label_files
from shardkit.manifest import Manifest, read_manifest
from shardkit.planning import plan_file
from shardkit.shard_reports import REPORTS
from shardkit.storage import TEMPORARY, Folder

_CLASS_NAMES = label_files({**CLASSIFICATION, LABELS: CLASS_LABELS, OBJECT_LABELS: CLASS_LABELS})
_BESIDE = {naming.MANIFEST, naming.REJECTED, naming.RUN_LOG, "dataset_info.json", "features.json", *_CLASS_NAMES}


def finished(output: Folder) -> Manifest | None:
    """The manifest of the dataset that is there already; None where there is none."""
    if output.stat(naming.MANIFEST) is None:
        return None
    return read_manifest(output.url)


def refuse_foreign(output: Folder) -> None:
    """Refuse a folder that holds files which are not a conversion's.

    Raises:
        CallError: it does; one is named. Nothing in it was touched.
    """
    there = output.stat("")
    if there is not None and not there.is_folder:
        msg = f"{output.url}: is no folder; choose a new or an empty folder"
        raise CallError(msg)
    for entry in output.scan():
        if not _is_ours(entry.name):
            msg = (
                f"{output.url}: holds {entry.name!r}, which is no part of a dataset; "
                "choose a new or an empty folder (shardkit removes only what it wrote)"
            )
            raise CallError(msg)


def refuse_damaged(output: Folder, manifest: Manifest) -> None:
    """Refuse to call a dataset finished whose shards are not all there.

    Raises:
        DataError: one is missing or cut short.
    """
    for _, shard in manifest.shards():
        for path, num_bytes in ((shard.path, shard.num_bytes), (shard.index.path, None)):
            found = output.stat(path)
            if found is None or num_bytes not in {None, found.num_bytes}:
                what = "is missing" if found is None else f"has {found.num_bytes} bytes, not {num_bytes}"
                msg = f"{output.url}/{path}: {what}; restore it, or convert again with --overwrite"
                raise DataError(msg)


def refuse_shards(output: Folder) -> None:
    """Refuse shards whose plan and manifest are both gone: nobody knows what they were converted from.

    Raises:
        DataError: there are such shards.
    """
    for entry in output.scan():
        if _is_ours(entry.name) and entry.name not in {naming.WORK_FOLDER, naming.RUN_LOG}:
            msg = f"{output.url}: holds {entry.name!r} of a dataset without a manifest; remove it with --overwrite"
            raise DataError(msg)


def description(manifest: Manifest) -> dict[str, Any]:
    """What the dataset was made from, in the form of Plan.description()."""
    return {
        "plan_version": manifest.options["plan_version"],
        "name": manifest.name,
        "source": manifest.source.fingerprint,
        "layout": manifest.source.layout,
        "classes": manifest.classes,
        "options": {name: value for name, value in manifest.options.items() if name != "plan_version"},
        "software": manifest.software,
    }


def difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    """What two descriptions differ in, in words."""
    said = []
    for name, after in wanted.items():
        before = found.get(name)
        if before == after:
            continue
        if isinstance(before, dict) and isinstance(after, dict) and name in {"options", "software"}:
            said += [
                f"{key} was {before.get(key)} and is {after.get(key)}"
                for key in sorted({*before, *after})
                if before.get(key) != after.get(key)
            ]
        elif name in {"name", "layout"}:
            said.append(f"{name} was {before} and is {after}")
        else:
            said.append({"source": "the source's files have changed"}.get(name, f"{name} have changed"))
    return ", ".join(said)


def clear(output: Folder) -> None:
    """Remove a dataset or what there is of one; the manifest first, so that nothing partial looks complete."""
    output.remove(naming.MANIFEST)
    output.remove(plan_file.PATH)
    output.remove_tree(REPORTS)
    for entry in output.scan():
        if _is_ours(entry.name) and entry.name not in {naming.WORK_FOLDER, naming.RUN_LOG}:
            output.remove(entry.name)


def _is_ours(name: str) -> bool:
    return name in _BESIDE or name == naming.WORK_FOLDER or name.startswith(TEMPORARY) or naming.is_shard_file(name)
