"""Refuse a delivery whose folders have a level more or less than those of the dataset."""

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.planning.earlier_examples import rows_with
from shardkit.conversion.planning.labels import label_names
from shardkit.dataset.manifest import Manifest
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources import Source
from shardkit.sources.readings.values import PathPart


def refuse_wrapped_classes(table: pa.Table, manifest: Manifest) -> None:
    """Refuse a folder that became a new class although the dataset's classes are folders in it."""
    names = label_names(table)
    new = set(pc.unique(names).to_pylist()) - {*manifest.classes, None}
    wrapping: dict[str, tuple[int, str]] = {}
    for name in sorted(new):
        inner = table["key"][int(rows_with(names, [name])[0])].as_py().split("/")[:-1]
        below = inner[inner.index(name) + 1 :] if name in inner else []
        if below and below[0] in manifest.classes:
            wrapping[name] = inner.index(name) + 1, below[0]
    if not wrapping:
        return
    name, (level, known) = next(iter(wrapping.items()))
    problem = (
        f"the folder {name!r} would become a new class, but {known!r} in it is a class of {manifest.root.url}: it "
        "stands above the classes"
    )
    changes = [Change(f"folders such as {known!r} are the classes", {"label": f"path:{level}"})]
    changes += [Change(f"only {one}/ is read", inside=one) for one, (at, _) in wrapping.items() if at == 1]
    raise RefusalError(problem, changes)


def refuse_other_depth(source: Source, keys: pa.ChunkedArray, depths: set[int]) -> None:
    """Refuse images that are all in folders of another depth, if the dataset remembers which folder is the label."""
    label = None if source.reading is None else source.reading.label
    if label is None or not isinstance(label.origin, PathPart) or label.origin.path < 0:
        return
    found = set(pc.unique(pc.count_substring(keys, "/")).to_pylist())
    if not found or found & depths:
        return
    own, earlier = (" or ".join(map(str, sorted(one))) for one in (found, depths))
    where = f"are in {own} folders, where those of the dataset are in {earlier}"
    level = label.origin.path + min(found) - min(depths)
    changes = [Change("as many levels deeper or higher", {"label": f"path:{level}"})] if level >= 0 else []
    error = RefusalError(f"all images of SOURCE, such as {printable(keys[0].as_py())}, {where}", changes)
    refused = source.misfit(error)
    if refused is not error:
        raise refused
