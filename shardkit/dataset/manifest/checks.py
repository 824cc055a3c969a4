"""Check that the parts of a manifest agree with each other.

A manifest may come from a stranger, with a digest that is right for its content. What it names decides which files are
opened and written, and its numbers decide how much memory is taken. So everything that can be compared is compared
once, when a manifest is read or made, and no command needs checks of its own.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from shardkit import naming
from shardkit.dataset import features as names
from shardkit.dataset.features import Feature
from shardkit.dataset.manifest.model import Manifest
from shardkit.dataset.manifest.parts import Balance, Generation, Rejected, Shard, Split
from shardkit.dataset.tfrecord import OVERHEAD_BYTES

_MAX_VALUES = 1 << 20  # of a feature with a fixed shape
_DTYPES = {"image": {"bytes"}, "mask": {"bytes"}, "text": {"bytes"}, "bbox": {"float32"}, "class_label": {"int64"}}
_MAPS = {"splits", "shards"}  # options with a value for each split
_TEXTS = {"split_by", "dedupe", "check"}  # options that are texts
_NULL_OR_TEXTS = {"group_by", "size", "subsampling"}
_ROUNDING = 1e-5  # of bytes_spread, which is stored with six digits


def manifest_problem(manifest: Manifest) -> str | None:
    """Return the first contradiction in a manifest, with the name of the field; None if there is none.

    Args:
        manifest: The manifest; the types and ranges of its fields are valid, and no path leaves the folder.
    """
    return next(_problems(manifest), None)


def _problems(manifest: Manifest) -> Iterator[str]:
    if manifest.records_root is not None and not manifest.is_adopted:
        yield f"records_root is for adopted TFRecords, and source.layout is {manifest.source.layout!r}"
    yield from _feature_problems(manifest)
    if len(set(manifest.classes)) != len(manifest.classes):
        yield "classes has a name twice"
    if not manifest.splits:
        yield "splits is empty"
    for name, split in manifest.splits.items():
        if problem := naming.split_name_problem(name):
            yield f"splits: {problem}"
        yield from (f"splits.{name}{problem}" for problem in _split_problems(manifest, split))
    yield from _rejected_problems("rejected", manifest.rejected)
    all_options = [manifest.options, *(one.options for one in manifest.generations)]
    for options in all_options if not manifest.is_adopted else ():
        # Those that interpret an option check its value; none but these is a map.
        maps = [name for name, value in options.items() if isinstance(value, dict)]
        yield from (f"options.{naming.printable(name)} is a map" for name in maps if name not in _MAPS)
        for name in sorted(options.keys() & (_TEXTS | _NULL_OR_TEXTS)):
            value = options[name]
            if not isinstance(value, str) and (value is not None or name in _TEXTS):
                yield f"options.{name} is not a text"
    yield from _generation_problems(manifest)
    yield from _path_problems(manifest)


def _feature_problems(manifest: Manifest) -> Iterator[str]:
    for name, always in names.ALWAYS.items():
        if manifest.features.get(name) != always:
            yield f"features.{name} is not that of an image dataset"
    for name, feature in manifest.features.items():
        if feature.dtype not in _DTYPES.get(feature.role, {feature.dtype}):
            yield f"features.{naming.printable(name)} has the role {feature.role} and the type {feature.dtype}"
        sizes = [size for size in feature.shape if size is not None]
        if not all(1 <= size <= _MAX_VALUES for size in sizes) or math.prod(sizes) > _MAX_VALUES:
            yield f"features.{naming.printable(name)}.shape is {list(feature.shape)}"
        elif not _fits_shape(name, feature):
            shape = str([*feature.shape]).replace("None", "null")
            yield f"features.{naming.printable(name)} has the role {feature.role} and the shape {shape}"


def _fits_shape(name: str, feature: Feature) -> bool:
    """Return whether an example can have values of a feature's shape; those of objects are one for each object."""
    if feature.role == "bbox":
        return feature == names.BOXES
    if feature.role == "class_label" or name in {names.OBJECT_LABELS, names.MASK}:
        return feature.shape in {(), (None,)}
    return None not in feature.shape[1:]


def _split_problems(manifest: Manifest, split: Split) -> Iterator[str]:
    if not split.shards:
        yield ".shards is empty"
    sums = {
        ".num_examples": (split.num_examples, sum(shard.num_examples for shard in split.shards)),
        ".num_bytes": (split.num_bytes, sum(shard.num_bytes for shard in split.shards)),
        " has a number of class_counts that": (len(split.class_counts), len(manifest.classes)),
    }
    if manifest.features.get(names.LABEL) == names.CLASS_LABEL:
        sums[".class_counts have a sum that"] = (sum(split.class_counts), split.num_labelled)
    elif split.num_unlabelled > (split.num_examples if names.LABELS in manifest.features else 0):
        yield f".num_unlabelled is {split.num_unlabelled:,}, of {naming.counted(split.num_examples, 'example')}"
    yield from (_sum(what, said, found) for what, (said, found) in sums.items() if said != found)
    for number, shard in enumerate(split.shards):
        if shard.num_examples * OVERHEAD_BYTES > shard.num_bytes or shard.num_with_gps > shard.num_examples:
            yield (
                f".shards.{number} has {naming.counted(shard.num_examples, 'example')} in "
                f"{naming.counted(shard.num_bytes, 'byte')}, {shard.num_with_gps:,} with a GPS position"
            )
    yield from _balance_problems(split.balance, split.shards)


def _balance_problems(balance: Balance, shards: Sequence[Shard]) -> Iterator[str]:
    counts = [shard.num_examples for shard in shards] or [0]
    if balance.count_spread != max(counts) - min(counts):
        yield _sum(".balance.count_spread", balance.count_spread, max(counts) - min(counts))
    sizes = [max(1, shard.num_bytes) for shard in shards] or [1]
    spread = max(sizes) / min(sizes) - 1
    if not math.isclose(balance.bytes_spread, spread, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
        yield _sum(".balance.bytes_spread", balance.bytes_spread, round(spread, 6))


def _sum(what: str, said: float, found: float) -> str:
    return f"{what} is {said}, its parts make {found}"


def _generation_problems(manifest: Manifest) -> Iterator[str]:
    listed: dict[str, dict[str, list[Shard]]] = {}  # by folder and split
    for name, shard in manifest.shards() if manifest.generations else ():
        listed.setdefault(_folder(shard.path), {}).setdefault(name, []).append(shard)
    num_classes = 0
    for number, one in enumerate(manifest.generations):
        where = f"generations.{number}"
        if one.folder != (naming.generation_folder(number) if number else None):
            yield f"{where}.folder is {one.folder!r}"
        if (one.previous is None) != (number == 0):
            yield f"{where}.previous is {one.previous!r}"
        if not num_classes <= one.num_classes <= len(manifest.classes):
            yield f"{where}.num_classes is {one.num_classes:,}, of {naming.counted(len(manifest.classes), 'class')}"
        num_classes = one.num_classes
        yield from _rejected_problems(f"{where}.rejected", one.rejected)
        parts = _part_problems(one, listed.get(one.folder or "", {}))
        yield from (f"{where}.splits{problem}" for problem in parts)


def _rejected_problems(where: str, rejected: Rejected) -> Iterator[str]:
    if rejected.num_examples != (found := sum(rejected.by_reason.values())):
        yield _sum(f"{where}.num_examples", rejected.num_examples, found)


def _part_problems(generation: Generation, listed: Mapping[str, Sequence[Shard]]) -> Iterator[str]:
    """Yield the contradictions between what a generation adds to each split and its shards."""
    if generation.splits.keys() != listed.keys():
        yield " has other names than the splits of its shards"
        return
    for name, part in generation.splits.items():
        shards = listed[name]
        sums = {
            "num_shards": (part.num_shards, len(shards)),
            "num_examples": (part.num_examples, sum(shard.num_examples for shard in shards)),
            "num_bytes": (part.num_bytes, sum(shard.num_bytes for shard in shards)),
        }
        yield from (_sum(f".{name}.{what}", said, found) for what, (said, found) in sums.items() if said != found)
        yield from (f".{name}{problem}" for problem in _balance_problems(part.balance, shards))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _path_problems(manifest: Manifest) -> Iterator[str]:
    """Yield the paths that no conversion, append or adoption gives a file, and those that occur twice."""
    folders = {one.folder or "" for one in manifest.history}
    for name, split in manifest.splits.items():
        yield from _adopted_paths(manifest, name) if manifest.is_adopted else _own_paths(name, split, folders)
    paths = Counter(path for _, shard in manifest.shards() for path in (shard.path, shard.index.path))
    paths.update([naming.MANIFEST, *(file.path for file in manifest.files)])
    [(path, count)] = paths.most_common(1)
    if count > 1:
        yield f"the path {path!r} is that of two files"


def _own_paths(name: str, split: Split, folders: AbstractSet[str]) -> Iterator[str]:
    totals = Counter(_folder(shard.path) for shard in split.shards)
    numbers = dict.fromkeys(folders, 0)
    for number, shard in enumerate(split.shards):
        folder, where = _folder(shard.path), f"splits.{name}.shards.{number}"
        if folder not in numbers:
            yield f"{where}.path is {shard.path!r}, which is not in a folder of the dataset"
            return
        wanted = naming.ShardName(name, numbers[folder], totals[folder])
        numbers[folder] += 1
        pairs = [("path", shard.path, wanted.records), ("index.path", shard.index.path, wanted.index)]
        for what, path, file_name in pairs:
            if path != (expected := f"{folder}/{file_name}".lstrip("/")):
                yield f"{where}.{what} is {path!r}; the file at this place is {expected!r}"


def _adopted_paths(manifest: Manifest, name: str) -> Iterator[str]:
    for number, shard in enumerate(manifest.splits[name].shards):
        if not shard.index.path.startswith(f"{naming.INDEXES}/"):
            where = f"splits.{name}.shards.{number}.index.path"
            yield f"{where} is {shard.index.path!r}, which is not in the folder {naming.INDEXES}"
