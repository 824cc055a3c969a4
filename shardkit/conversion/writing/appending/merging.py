"""Make the manifest of a dataset with a new generation: a pure function of the two manifests and the labels."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from shardkit import naming
from shardkit.conversion.writing.output.finished_shards import FinishedShard
from shardkit.conversion.writing.publishing import summarise_split
from shardkit.dataset.manifest import File, Index, Manifest, Rejected, Shard, Source, Split, seal_manifest
from shardkit.dataset.manifest.parts import Generation
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.naming import split_order


def moved_shards(part: Manifest, folder: str) -> list[tuple[str, Shard]]:
    """Return the shards of a generation as the dataset's manifest lists them: split name and shard, in order."""
    return [
        (
            split,
            shard.model_copy(
                update={
                    "path": f"{folder}/{shard.path}",
                    "index": Index(path=f"{folder}/{shard.index.path}", sha256=shard.index.sha256),
                }
            ),
        )
        for split, shard in part.shards()
    ]


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
    splits: dict[str, Split] = {
        name: summarise_split(shards[name], len(part.classes)) for name in split_order(set(shards))
    }
    return seal_manifest(
        {
            "name": dataset.name,
            "features": dataset.features,
            "classes": part.classes,
            "splits": splits,
            "source": _source(generations),
            "options": dataset.options,
            "plan_digest": dataset.plan_digest,
            "rejected": Rejected(
                num_examples=sum(one.rejected.num_examples for one in generations),
                by_reason=_added(one.rejected.by_reason for one in generations),
            ),
            "files": [*dataset.files, *part_files],
            "software": dataset.software,
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
