"""Fit several datasets together: a folder that all are in, their features, classes and keys."""

import posixpath
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.index.file import key_hashes
from shardkit.dataset.index.shards import parse_columns, read_indexes
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError
from shardkit.naming import counted
from shardkit.options.words import named
from shardkit.record_sources.datasets.changes import some
from shardkit.record_sources.datasets.members import DatasetPart, Member
from shardkit.storage import Folder, open_folder
from shardkit.storage.opening import shared_folder

_PIN_DIGITS = 12  # of a digest in a key


def common_folder(manifests: Sequence[Manifest]) -> tuple[Folder, list[str]]:
    """Return the folder that some datasets and their records are in, and the datasets' paths below it.

    It is the dataset's own folder, and the path is '', for one dataset that holds its records itself.
    """
    roots = [one.root for one in manifests]
    urls = [root.url.rstrip("/") for root in roots]
    given = [(url, one.digest) for url, one in zip(urls, manifests, strict=True)]
    if repeated := next((url for url, digest in given if given.count((url, digest)) > 1), None):
        msg = f"{repeated}: the dataset is given twice; give each once"
        raise CallError(msg)
    elsewhere = {at: one.records_root for at, one in enumerate(manifests) if one.records_root is not None}
    if len(roots) == 1 and not elsewhere:
        return roots[0], [""]
    # The system resolves `..` after links, so the way to records elsewhere starts at the folder itself.
    urls = [roots[at].resolve("") if at in elsewhere else url for at, url in enumerate(urls)]
    places = urls + [posixpath.normpath(posixpath.join(urls[at], path)) for at, path in elsewhere.items()]
    shared = shared_folder(places)
    below = [posixpath.relpath(url, shared) for url in places[: len(roots)]]
    return open_folder(shared), ["" if path == "." else path for path in below]


def members_of(manifests: Sequence[Manifest], *, with_prefix: bool) -> tuple[Member, ...]:
    """Return the datasets of a source."""
    urls = [one.root.url.rstrip("/") for one in manifests]
    names = [posixpath.basename(url) for url in urls]
    pairs = zip(names, manifests, urls, strict=True)
    names = [name if urls.count(url) == 1 else f"{name}@{one.digest[:_PIN_DIGITS]}" for name, one, url in pairs]
    if with_prefix and (repeated := next((name for name in names if names.count(name) > 1), None)):
        msg = f"{named('key_prefix', True)}: two folders are called {repeated!r}; rename one, so that their keys differ"
        raise CallError(msg)
    return tuple(
        Member(
            url=one.root.url,
            digest=one.digest,
            class_names=tuple(one.classes),
            has_decoded=one.options.get("check") == "decode",
            key_prefix=f"{name}/" if with_prefix else "",
            is_adopted=one.is_adopted,
            stored_as=one.stored_as,
            has_unlabelled=one.num_unlabelled > 0,
        )
        for one, name in zip(manifests, names, strict=True)
    )


def refuse_other_features(manifests: Sequence[Manifest]) -> None:
    """Refuse datasets whose examples do not have the same features."""
    first = manifests[0]
    for other in manifests[1:]:
        names = sorted({*first.features, *other.features})
        if differing := next((name for name in names if first.features.get(name) != other.features.get(name)), None):
            has = " and ".join(f"{one.root.url} has {_described(one, differing)}" for one in (first, other))
            msg = f"the datasets differ in the feature {differing!r}: {has}; convert their sources so that they agree"
            raise CallError(msg)


def _described(manifest: Manifest, name: str) -> str:
    feature = manifest.features.get(name)
    return "none" if feature is None else f"{feature.dtype} ({feature.role}, shape {list(feature.shape)})"


def keys_of(folder: Folder, parts: Sequence[DatasetPart], members: Sequence[Member]) -> Iterator[pa.ChunkedArray]:
    """Yield the keys of each shard, with the prefix of its dataset."""
    shards = [part.shard for part in parts]
    for part, raw in zip(parts, read_indexes(folder, shards), strict=True):
        keys = parse_columns(folder, part.shard, raw, ["key"])["key"]
        prefix = members[part.member].key_prefix
        yield pc.binary_join_element_wise(prefix, keys, "") if prefix else keys


def refuse_repeated_keys(folder: Folder, parts: Sequence[DatasetPart], members: Sequence[Member]) -> None:
    """Refuse datasets that have a key in common."""
    hashes = [key_hashes(keys.to_pylist()) for keys in keys_of(folder, parts, members)]
    every = np.sort(np.concatenate(hashes))
    repeated = np.unique(every[1:][every[1:] == every[:-1]])
    if not len(repeated):
        return
    found = sorted(set(_keys_with(keys_of(folder, parts, members), repeated)))
    msg = (
        f"{counted(len(repeated), 'key')} {'is' if len(repeated) == 1 else 'are'} in several datasets: {some(found)}; "
    )
    raise CallError(
        msg + f"add {named('key_prefix', True)}, which puts the name of its dataset's folder before each key"
    )


def _keys_with(keys_of_shards: Iterable[pa.ChunkedArray], hashes: npt.NDArray[np.int64]) -> Iterator[str]:
    for keys in keys_of_shards:
        is_wanted = np.isin(key_hashes(keys.to_pylist()), hashes)
        yield from keys.filter(pa.array(is_wanted)).to_pylist()
