"""Append the examples of a source to a dataset: convert them into a folder in it, then publish both as one dataset.

Nothing of the dataset changes before the last step, which replaces the manifest: a run that is killed leaves the old
dataset or the new one. The manifest from before is kept under its digest first, so that a trainer can go on with it.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shardkit import naming
from shardkit.conversion.planning import plan_file
from shardkit.conversion.planning.choosing import NothingNewError
from shardkit.conversion.writing.appending.addition import Addition, AlreadyAppendedError
from shardkit.conversion.writing.conversion import Conversion, Outcome
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.conversion.writing.output.finished_shards import FinishedShard
from shardkit.conversion.writing.publishing import summarise_split
from shardkit.conversion.writing.reject_limit import REJECTED_IN_WORK, REJECTED_SHOWN
from shardkit.dataset.index.shards import parse_columns, read_indexes
from shardkit.dataset.manifest import (
    File,
    Manifest,
    Rejected,
    Shard,
    Source,
    dataset_folder,
    read_manifest,
    seal_manifest,
    write_shard_tables,
)
from shardkit.dataset.manifest.parts import Generation
from shardkit.errors import CallError, DataError, ShardkitError, StaleRunError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.naming import counted, printable, split_order
from shardkit.options.call import Change
from shardkit.options.words import shown
from shardkit.parallel.run_token import Run, claimed
from shardkit.refusals import RefusalError
from shardkit.storage import TEMPORARY, Folder, open_folder, os_errors_as, remove_temporaries
from shardkit.storage.kernel_locks import locked


def moved_shards(part: Manifest, folder: str) -> Iterator[tuple[str, Shard]]:
    """Yield the shards of a generation as the dataset's manifest lists them: split name and shard, in order."""
    for split, shard in part.shards():
        index = shard.index.model_copy(update={"path": f"{folder}/{shard.index.path}"})
        yield split, shard.model_copy(update={"path": f"{folder}/{shard.path}", "index": index})


def merged_manifest(
    dataset: Manifest, part: Manifest, folder: str, shards: Mapping[str, Sequence[FinishedShard]]
) -> Manifest:
    """Return the manifest of a dataset with a new generation.

    The first classes of `part`, the generation's own manifest, are the dataset's; so are the first shards of a split.
    """
    (own,) = part.history
    generation = own.model_copy(update={"folder": folder, "previous": dataset.digest})
    generations = [*dataset.history, generation]
    raw = part.to_bytes()
    has_list = any(file.path == naming.WITHDRAWN for file in part.files)  # the last list counts
    part_files = [
        *(file.model_copy(update={"path": f"{folder}/{file.path}"}) for file in part.files),
        File(path=f"{folder}/{naming.MANIFEST}", num_bytes=len(raw), sha256=sha256_hex(raw)),
    ]
    kept = {name: getattr(dataset, name) for name in ("name", "features", "options", "plan_digest", "software")}
    return seal_manifest(
        {
            **kept,
            "classes": part.classes,
            "splits": {name: summarise_split(shards[name], len(part.classes)) for name in split_order(set(shards))},
            "source": _source(generations),
            "rejected": Rejected(
                num_examples=sum(one.rejected.num_examples for one in generations),
                by_reason=_added(one.rejected.by_reason for one in generations),
            ),
            "files": [*dataset.files, *part_files],
            "withdrawn": part.withdrawn if has_list else dataset.withdrawn,
            "generations": generations,
        }
    )


def _source(generations: Sequence[Generation]) -> Source:
    """Return all sources as one. Groups and duplicates of a generation do not count those of earlier ones."""
    sources = [one.source for one in generations]
    groups = [one.groups for one in sources if one.groups is not None]
    duplicates = [one.duplicates for one in sources]
    known = [number for number in duplicates if number is not None]
    return Source(
        fingerprint=sha256_hex(canonical_json([one.fingerprint for one in sources])),
        layout=sources[0].layout,
        num_files=sum(one.num_files for one in sources),
        num_bytes=sum(one.num_bytes for one in sources),
        skipped=_added(one.skipped for one in sources),
        groups=sum(groups) if groups else None,
        duplicates=sum(known) if len(known) == len(duplicates) else None,
        reading=next((one.reading for one in reversed(sources) if one.reading is not None), None),
    )


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total = Counter[str]()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


@dataclass(frozen=True, slots=True)
class AppendOutcome(Outcome):
    """The result of an append: an `Outcome` with the manifest of the whole dataset.

    Attributes:
        folder: Folder of the generation that has the source's examples; None for the dataset's own.
        left_out: If only a part of the source's files is in the dataset, and none of the others is new and good: the
            number of files by the kind or the reason why each was left out.
    """

    folder: str | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Append:
    """One run of an append."""

    manifest: Manifest  # the dataset's manifest, as it was when the options were taken from it
    # The conversion of the source into the dataset's folder, of which it gets a folder of its own. Its options are
    # those of `options.generation_options`; `overwrite` discards another append that is not finished.
    conversion: Conversion
    skip_existing: bool = False  # whether images that the dataset has are left out instead of refused
    readmit: bool = False  # whether images that were removed from the dataset may come in again

    def run(self) -> AppendOutcome:
        root = self.manifest.root
        if self.manifest.is_adopted:
            problem = f"{root.url}: images are appended to converted datasets, and this one holds adopted TFRecords"
            meaning = "the same keys, splits and classes; then append to OUT"
            raise RefusalError(problem, [Change(meaning, sources=(root.url,), command="convert", starts_anew=True)])
        if "appended_to" in self.manifest.options:
            msg = f"{root.url}: this is one generation of the dataset in the folder above it; append to that one"
            raise CallError(msg)
        if root.resolve("") == dataset_folder(self.conversion.source_url).resolve(""):
            raise CallError(f"{root.url}: SOURCE is the dataset itself; give the folder of the new images")
        with os_errors_as("write into the dataset", root.url), locked(root), claimed(root) as run:
            try:
                return self._append(root, run)
            except StaleRunError:
                raise
            finally:
                with contextlib.suppress(StaleRunError, OSError):  # neither may hide the original error
                    run.check()
                    run.finish()  # a dataset has no work folder; that of the generation stays if it is not finished

    def _append(self, root: Folder, run: Run) -> AppendOutcome:
        _remove_temporaries(root)
        self._refuse_changed(root)
        outputs.refuse_damaged(root, self.manifest)
        folder = naming.generation_folder(len(self.manifest.history))
        addition = Addition(self.manifest, self.skip_existing, self.readmit)
        log, url = self.conversion.log, f"{root.url.rstrip('/')}/{folder}"
        conversion = replace(self.conversion, output_url=url, addition=addition)
        try:
            outcome = conversion.run()
        except AlreadyAppendedError as there:
            _remove_unused(root, folder)
            return AppendOutcome(self.manifest, log.seconds, unchanged=True, folder=there.facts["folder"])
        except NothingNewError as nothing:
            if nothing.facts["has_written"]:
                root.remove_tree(folder)
            _remove_unused(root, folder)
            return self._nothing_new(nothing)
        except CallError:
            _remove_unused(root, folder)
            raise
        except ShardkitError:
            if not open_folder(f"{root.url}/{folder}").scan():
                root.remove_tree(folder)
            raise
        with self.conversion.listener.phase("publishing", None):
            manifest = self._publish(root, run, folder)
        return AppendOutcome(manifest, log.seconds, outcome.finished_before, findings=outcome.findings, folder=folder)

    def _nothing_new(self, nothing: NothingNewError) -> AppendOutcome:
        """Return the outcome of an append that has nothing to add; print the rejects, because no list is written."""
        rejected: list[dict[str, Any]] = nothing.facts["rejected"]
        lines = [
            f"  {printable(row['key'])}: {row['reason']}: {shown(row['message'])}" for row in rejected[:REJECTED_SHOWN]
        ]
        if len(rejected) > REJECTED_SHOWN:
            lines.append(f"  … and {len(rejected) - REJECTED_SHOWN} more")
        if lines:
            self.conversion.listener.say(
                "\n".join([f"{counted(len(rejected), 'image')} of SOURCE left out:", *lines]), "warning"
            )
        reasons = Counter(row["reason"] for row in rejected)
        left_out = {**nothing.facts["left_out"], **reasons}
        return AppendOutcome(self.manifest, self.conversion.log.seconds, unchanged=True, left_out=left_out)

    def _refuse_changed(self, root: Folder) -> None:
        """Refuse a dataset that another run has changed since its options were taken."""
        if read_manifest(root.url).digest != self.manifest.digest:
            raise DataError(f"{root.url}: another run has changed the dataset; run the same command again")

    def _publish(self, root: Folder, run: Run, folder: str) -> Manifest:
        part = read_manifest(f"{root.url}/{folder}")
        shards: dict[str, list[FinishedShard]] = {}
        listed = [*self.manifest.shards(), *moved_shards(part, folder)]
        for (split, shard), raw in zip(listed, read_indexes(root, [shard for _, shard in listed]), strict=True):
            finished = FinishedShard.of(shard, parse_columns(root, shard, raw, ["label", "labels"]), raw)
            shards.setdefault(split, []).append(finished)
        merged = merged_manifest(self.manifest, part, folder, shards)
        write_shard_tables(root, merged)
        with root.atomic_write(naming.earlier_manifest(self.manifest.digest)) as file:
            file.write(self.manifest.to_bytes())
        run.check()
        self._refuse_changed(root)
        with root.atomic_write(naming.MANIFEST) as file:
            file.write(merged.to_bytes())
        return read_manifest(root.url)


def _remove_temporaries(root: Folder) -> None:
    remove_temporaries(root)
    for entry in root.scan(naming.EARLIER_MANIFESTS):
        if entry.name.startswith(TEMPORARY):
            root.remove(f"{naming.EARLIER_MANIFESTS}/{entry.name}")


def _remove_unused(root: Folder, folder: str) -> None:
    """Remove the folder of a generation of which nothing was written; keep that of an unfinished append."""
    generation = open_folder(f"{root.url}/{folder}")
    used = outputs.owned(generation) or generation.stat(plan_file.PATH) or generation.stat(REJECTED_IN_WORK)
    if not used and all(entry.name == naming.WORK_FOLDER for entry in generation.scan()):
        root.remove_tree(folder)
