"""What there is in a source that was recognised: its examples as the reading lists them, and the files that it left."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.archives.mounted_folder import MountedFolder
from shardkit.images.boxes import has_pixels
from shardkit.sources.columns import ANNOTATED_HEIGHT, ANNOTATED_WIDTH, FEATURE_PREFIX, LISTING_SCHEMA, OBJECTS, TARGET
from shardkit.sources.engine.accounting import Accounting
from shardkit.sources.filtered_folder import FilteredFolder
from shardkit.sources.formats.box_tables.records import BOX_TABLES
from shardkit.sources.listing import Listing, Source
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.readings.values import Column, PathPart, Reading, files_of
from shardkit.sources.recognising.folders.folder_names import are_dates, parts_of_data
from shardkit.sources.recognising.folders.split_folders import number_of_word
from shardkit.sources.walking import (
    ending,
    files_below,
    is_folder,
    is_image,
    join,
    parent_of,
    read_head,
    stem_of,
)
from shardkit.storage import Folder

_MAX_ROWS = 200_000  # examples and files that are looked at; the engine accounts for all of them as it lists
_MAX_ANNOTATED = 20_000  # examples of files of annotations, which take longer: their classes are not doubted
_BATCH_ROWS = 4096
_FEW = 12  # examples
MAX_COMPARED = 8
MARGIN = 0.05  # of a side: boxes of objects at the border reach a little beyond it


@dataclass
class Evidence:
    """A source as it was recognised."""

    source: Source
    reading: Reading
    tree: Folder  # SOURCE, with archives as folders; the folder around it if it is a file
    is_file: bool  # whether it is a file
    options: SourceOptions
    keys: list[str] = field(default_factory=list)  # paths of the examples below the reading's root
    # Their labels; None for those that have none, or no single class
    labels: list[str | None] = field(default_factory=list)
    splits: list[str | None] = field(default_factory=list)
    # Number of rows that are rejected while listing, by the code of the reason
    rejected: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)  # number of files that are left out, by a phrase
    features: dict[str, list[Any]] = field(default_factory=dict)  # values of further columns of tables, by name
    targets: Counter[float] = field(default_factory=Counter)  # their numbers for regression
    is_whole: bool = True  # whether all examples are here
    objects: Counter[str] = field(default_factory=Counter)  # number of objects of each class
    num_empty: int = 0  # examples without objects
    num_beyond: int = 0  # objects whose boxes reach well beyond the image
    # Widths and heights that annotations say of the first examples with boxes, by key
    annotated: dict[str, tuple[int, int]] = field(default_factory=dict)
    # Boxes of the first examples in pixels of their images, whose sizes nothing says: (ymin, xmin, ymax, xmax), by key
    in_pixels: dict[str, list[list[float]]] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Source, reading: Reading, opening: Opening) -> "Evidence":
        """List a source, or the first part of a large one."""
        tree = opening.folder
        found = cls(source, reading, tree, opening.file is not None, opening.options)
        most = _MAX_ANNOTATED if reading.boxes or reading.mask else _MAX_ROWS
        for listing in _listings(source):
            found.skipped.update(listing.skipped)
            if listing.columns is None and not {OBJECTS, TARGET} & {*listing.schema.names}:
                found._add_rows(listing)
            else:
                found._add_table(listing.table())
            if len(found.keys) + found.rejected.total() >= most:
                found.is_whole = False
                break
        return found

    def _add_rows(self, listing: Listing) -> None:
        """Add the rows of a listing one by one: those of a folder are few, and a table takes longer than they do."""
        names = listing.schema.names[len(LISTING_SCHEMA) :]
        features = {i: name for i, name in enumerate(names) if name.startswith(FEATURE_PREFIX)}
        for row in listing.rows:
            if row.reason is not None:
                self.rejected[row.reason] += 1
                continue
            self.keys.append(row.key)
            self.labels.append(row.label_name)
            self.splits.append(row.split)
            for i, name in features.items():
                value = row.extra[i] if row.extra else None
                self.features.setdefault(name.removeprefix(FEATURE_PREFIX), []).append(value)

    def _add_table(self, table: pa.Table) -> None:
        self.rejected.update(table["reason"].drop_null().to_pylist())
        examples = table.filter(pc.is_null(table["reason"]))
        self.keys += examples["key"].to_pylist()
        self.labels += examples["label_name"].to_pylist()
        self.splits += examples["split"].to_pylist()
        if OBJECTS in examples.column_names:
            self._count_objects(examples)
        if TARGET in examples.column_names:
            self.targets.update(examples[TARGET].combine_chunks().flatten().to_pylist())
        for name in examples.column_names:
            if name.startswith(FEATURE_PREFIX):
                self.features.setdefault(name.removeprefix(FEATURE_PREFIX), []).extend(examples[name].to_pylist())

    def _count_objects(self, examples: pa.Table) -> None:
        lists = examples[OBJECTS].combine_chunks()
        objects, rows = lists.flatten(), pc.list_parent_indices(lists).to_numpy()
        self.num_empty += len(lists) - len(np.unique(rows))
        self.objects.update(objects.field("label_name").drop_null().to_pylist())
        for i in np.unique(rows)[: max(MAX_COMPARED - len(self.annotated) - len(self.in_pixels), 0)]:
            width, height = (examples[one.name][i].as_py() for one in (ANNOTATED_WIDTH, ANNOTATED_HEIGHT))
            if width and height and not any(map(has_pixels, lists[i].as_py())):
                self.annotated[examples["key"][i].as_py()] = width, height
            elif width is None:
                self.in_pixels[examples["key"][i].as_py()] = [one["bbox"] for one in lists[i].as_py()]
        boxes = objects.field("bbox").flatten().to_numpy(zero_copy_only=False).reshape(-1, 4)
        sizes = [examples[one.name].to_numpy()[rows] for one in (ANNOTATED_HEIGHT, ANNOTATED_WIDTH)]
        shares = boxes / np.tile(np.stack([np.where(size == 0, 1, size) for size in sizes], axis=1), 2)
        self.num_beyond += int(((shares < -MARGIN) | (shares > 1 + MARGIN)).any(axis=1).sum())

    @cached_property
    def counts(self) -> Counter[str]:
        """Number of examples of each class."""
        return Counter(label for label in self.labels if label is not None)

    @property
    def are_single(self) -> bool:
        """Whether most classes have one example; of few examples none repeats."""
        return are_single(self.counts)

    @property
    def has_several_files(self) -> bool:
        """Whether several files give labels or boxes."""
        used = {path for name, origin in self.reading.facts() if name != "split" for path in files_of(origin)}
        return len(used) > 1 or any("*" in path for path in used)

    @property
    def is_partly_in_archives(self) -> bool:
        """Whether some examples lie in archives and others do not, or only files of labels lie there."""
        tree = self.tree.inner if isinstance(self.tree, FilteredFolder) else self.tree
        if not self.reading.archives or not isinstance(tree, MountedFolder) or tree.mounts[0].at:
            return False
        folder, root = tree.mounts[0].folder, self.reading.images.root
        # A folder and an archive of its name next to it are one: the rest of it, or it once more.
        around = {parent_of(path.strip("/")) for path in self.reading.archives}
        others = [mount for mount in tree.mounts[1:] if mount.at in around or not is_folder(folder, mount.at)]

        def is_packed(path: str) -> bool:
            places = ((mount.folder, mount.below(path)) for mount in others)
            return any(inner is not None and folder.stat(inner) is not None for folder, inner in places)

        num_packed = sum(is_packed(join(root, key)) for key in self.keys)
        used = {path for _, origin in self.reading.facts() for path in files_of(origin) if "*" not in path}
        used -= {path for path in used if any(one.startswith(f"/{path}.") for one in self.reading.archives)}
        return 0 < num_packed < len(self.keys) or (not num_packed and any(map(is_packed, used)))

    @property
    def has_no_header(self) -> bool:
        """Whether boxes come from a table that does not name its columns."""
        boxes = self.reading.boxes
        if boxes is None or boxes.format != BOX_TABLES.name or "*" in (path := boxes.files[0]):
            return False
        head = read_head(self.tree, path) or b""
        return boxes.options.get("image", "").encode() not in head.partition(b"\n")[0]

    @cached_property
    def files(self) -> list[str]:
        """The files of SOURCE that are no images, and that neither the reading nor their names explain.

        If SOURCE is a file, those around it are not in it.
        """
        if self.is_file:
            return []
        names = [self.reading.label.names] if self.reading.label else []
        used = [path for _, origin in self.reading.facts() for path in files_of(origin)]
        accounting = Accounting([*filter(None, [*used, *names])])
        walk = itertools.islice(files_below(self.tree, ""), _MAX_ROWS)
        return [path for path, entry in walk if not is_image(entry.name) and not accounting.explains(path)]

    @cached_property
    def sizes(self) -> dict[tuple[str, int], list[str]]:
        """All images of SOURCE, by their names and sizes in bytes."""
        paths = defaultdict[tuple[str, int], list[str]](list)
        for path, entry in itertools.islice(files_below(self.tree, ""), _MAX_ROWS):
            if is_image(entry.name):
                paths[entry.name, entry.num_bytes].append(path)
        return paths

    @property
    def images(self) -> Iterable[str]:
        """The paths of all images of SOURCE."""
        return itertools.chain.from_iterable(self.sizes.values())

    @cached_property
    def rows(self) -> dict[str, int]:
        """The numbers of the examples by their paths."""
        return {join(self.reading.images.root, key): row for row, key in enumerate(self.keys)}

    @cached_property
    def twins(self) -> list[list[str]]:
        """Paths of the examples that have one name and size; not read whether they are one file."""
        names = {key.rpartition("/")[2] for key in self.keys}
        if len(names) == len(self.keys):  # as nearly always: SOURCE is not walked
            return []
        alike = ([path for path in paths if path in self.rows] for paths in self.sizes.values() if len(paths) > 1)
        return [paths for paths in alike if len(paths) > 1]

    @cached_property
    def stems(self) -> set[str]:
        """The names of all images of SOURCE, without their endings."""
        return {stem_of(path) for path in self.images}

    @cached_property
    def levels(self) -> list[list[str]]:
        """The folders of each example's key, by their number from the root; only as many as all have."""
        parts = [key.split("/")[:-1] for key in self.keys]
        depth = min(map(len, parts), default=0)
        return [[one[i] for one in parts] for i in range(depth)]

    @property
    def is_of_one_depth(self) -> bool:
        """Whether all examples lie equally deep."""
        return len({key.count("/") for key in self.keys}) <= 1

    @property
    def used_levels(self) -> set[int]:
        """The numbers of the folders that the reading uses."""
        origins: list[Any] = [origin for _, origin in self.reading.facts()]
        origins += [origin.rest for origin in origins if isinstance(origin, Column) and origin.rest is not None]
        depth = len(self.levels)
        return {one.path % depth for one in origins if isinstance(one, PathPart) and depth}

    def unused_levels(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the levels that vary among the examples and say something else than the facts do.

        Those around a file that is SOURCE are none.
        """
        if self.is_file:
            return
        for i, names in enumerate(self.levels):
            is_said = i in self.used_levels or repeats(names, self.labels) or repeats(names, self.splits)
            if not is_said and len({*names}) > 1 and not self._are_parts(i, names):
                yield i, names

    def _are_parts(self, level: int, names: list[str]) -> bool:
        """Return whether folders are called like days, cameras or numbered parts, and the classes are in several."""
        words = {number_of_word(name) for name in self.counts}  # classes that are numbered, too, may be the parts
        with_those_above = {"-".join(some) for some in zip(*self.levels[: level + 1], strict=True)}  # 2024/05/31
        if not (parts_of_data(sorted({*names})) or are_dates(sorted(with_those_above))) or any(
            "fold" in name.lower() for name in names
        ):
            return False
        if len(self.counts) > 1 and len(words) == 1 and None not in words:
            return False
        of_classes = defaultdict[Any, set[Any]](set)
        for name, label in zip(names, self.labels, strict=True):
            of_classes[label].add(name)
        shared = [len(parts) > 1 for parts in of_classes.values()]
        return sum(shared) * 2 > len(shared) or len(of_classes) == 1


def are_single(counts: Counter[str]) -> bool:
    """Return whether most classes are there once; of few examples none repeats."""
    return _FEW <= counts.total() < 2 * len(counts)


def _listings(source: Source) -> Iterator[Listing]:
    for part in source.parts():
        yield from source.list_part(part, _BATCH_ROWS)


def repeats(values: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether one value of a fact always goes with one value of another one, in both directions."""
    pairs = {*zip(values, other, strict=True)}
    return len(pairs) == len({one for one, _ in pairs}) == len({one for _, one in pairs})


def kinds_of(paths: list[str]) -> str:
    """Return folders and endings of some files."""
    counts = Counter(f"{parent_of(path) or '.'}/*{ending(path)}" for path in paths)
    return ", ".join(f"{kind} ({count})" for kind, count in counts.most_common(3))
