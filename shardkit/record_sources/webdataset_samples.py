"""WebDataset: group the members of a .tar into samples, and divide a large .tar into pieces.

Workers list the pieces at the same time. Where a member begins is known only from the members before it, so the driver
reads all headers once. It does so only where listing is what takes the time. If samples are so large that a disk takes
longer to reach the next one, or if each read is a request to an object store, the .tar stays one part.
"""

import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import BinaryIO

from shardkit.archives.tar_members import BrokenTar, IndivisibleTar, TarMember, buffered, member_end, tar_members
from shardkit.archives.unpacking import COMPRESSED_TARS, head_of_tar
from shardkit.errors import SourceChangedError
from shardkit.naming import IMAGE_ENDINGS
from shardkit.record_sources.webdataset_labels import SUFFIXES, LabelReader
from shardkit.sources.hosts import seen_again, unfiltered
from shardkit.sources.walking import ending, is_ignored
from shardkit.storage import Entry, Folder, LocalFolder, os_errors_as

_HEAD_BYTES = 4 << 20  # 4 MiB of a compressed .tar, unpacked
_PROBED_SAMPLES = 200  # enough to tell shards from a tree that was packed folder by folder
PIECE_MEMBERS = 40_000  # 20,000 samples of an image and a label, which are listed in half a second
# Of a source. The driver reads the headers of one .tar after the other, each in half the time of listing it, so several
# are listed faster as they are: each is a part.
MAX_DIVIDED_TARS = 1
MAX_MEMBER_BYTES = 32 << 10  # 32 KiB on average: a disk of 1 GB/s takes longer to read more than listing takes
_HEADER_BYTES = 512  # of a member: a smaller archive has fewer
_MEASURED_MEMBERS = 2000  # at the beginning


@dataclass(frozen=True, slots=True)
class Probe:
    """Properties of the first samples of a .tar."""

    are_labelled: bool  # an image has a label next to it
    have_lists: bool  # such a label is a list of classes
    depths: frozenset[int]  # folders above the images
    have_no_classes: bool  # neither next to an image nor as its folder

    @property
    def is_plain_tree(self) -> bool:
        """Whether this is an ordinary tree: images are in folders, and none has a label next to it."""
        return not self.are_labelled and max(self.depths, default=0) > 0

    @property
    def is_deep_tree(self) -> bool:
        """Whether this is an ordinary tree without an image in a single folder, which could be its class."""
        return self.is_plain_tree and 1 not in self.depths


def probe(folder: Folder, path: str, json_keys: tuple[str, ...]) -> Probe:
    """Look at the first samples of a .tar."""
    url = f"{folder.url}/{path}"
    if path.lower().endswith(COMPRESSED_TARS):
        return _probe(io.BytesIO(head_of_tar(folder, path, _HEAD_BYTES)), sys.maxsize, json_keys)
    with os_errors_as("read the archive", url):
        found = folder.stat(path)
        with folder.open(path) as raw:
            return _probe(buffered(raw), found.num_bytes if found else 0, json_keys)


def _probe(file: BinaryIO, num_bytes: int, json_keys: tuple[str, ...]) -> Probe:
    are_labelled = have_lists = have_classes = False
    depths: set[int] = set()
    reader = LabelReader(file, json_keys, is_multi_label=True)
    for sample in islice(samples(_unbroken(tar_members(file, num_bytes))), _PROBED_SAMPLES):
        images = [one for one in sample if ending(one.name) in IMAGE_ENDINGS]
        labels = labels_of(sample)
        depths.update(one.name.count("/") for one in images)
        have_classes = have_classes or (bool(images) and not reader.is_missing(labels))
        if images and labels:
            are_labelled = True
            have_lists = have_lists or reader.is_list(labels)
    return Probe(are_labelled, have_lists, frozenset(depths), depths == {0} and not have_classes)


def _unbroken(members: Iterator[TarMember]) -> Iterator[TarMember]:
    try:
        yield from (one for one in members if not one.problem and not is_junk(one))
    except BrokenTar:
        return


def samples(members: Iterable[TarMember]) -> Iterator[list[TarMember]]:
    """Yield the samples: successive members of one path up to the first dot of the name, as WebDataset reads them."""
    sample: list[TarMember] = []
    prefix = ""
    for member in members:
        found = sample_prefix(member.name)
        if found != prefix and sample:
            yield sample
            sample = []
        prefix = found
        sample.append(member)
    if sample:
        yield sample


def labels_of(sample: Iterable[TarMember]) -> dict[str, TarMember]:
    """Return a sample's members that may have its label, by suffix."""
    return {found: one for one in sample if (found := suffix(one.name)) in SUFFIXES}


def is_junk(member: TarMember) -> bool:
    """Return whether operating systems leave such members behind."""
    return any(is_ignored(part) for part in member.name.split("/") if part not in {".", ".."})


def suffix(name: str) -> str:
    """Return what follows the first dot of a member's name, in lower case."""
    return name.rpartition("/")[2].partition(".")[2].lower()


def sample_prefix(name: str) -> str:
    """Return what the names of a sample's members have in common: the path up to the first dot of the name."""
    above, separator, base = name.rpartition("/")
    return f"{above}{separator}{base.partition('.')[0]}"


@dataclass(frozen=True, slots=True)
class Tar:
    """A part of the source: one shard, or successive samples of one; small and pickled into the pipeline's graph."""

    path: str  # of the .tar
    split: str | None  # the split of all samples, if its name or folder gives one
    start: int = 0  # offset of the first member's header
    stop: int | None = None  # offset of the header after the last member; None for the end of the archive
    archive: Entry | None = None  # the .tar as the driver saw it, if it is divided: offsets mean nothing in another one

    def refuse_changed(self, folder: Folder) -> None:
        """Refuse to list a piece of an archive that is not the one that was divided."""
        if self.archive and seen_again(partial(folder.stat, self.path), self.archive) != self.archive:
            url = f"{folder.url}/{self.path}"
            msg = f"{url}: the archive has changed since the conversion began; convert again when it no longer changes"
            raise SourceChangedError(msg)

    def members(self, file: BinaryIO, num_bytes: int) -> Iterator[TarMember]:
        """Yield the members; see tar_members."""
        for member in tar_members(file, num_bytes, self.start):
            # Its data begins after its header: not before byte `stop` + 512, if the header is at `stop` or later.
            if self.stop is not None and member.offset > self.stop:
                return
            yield member


def divide_tar(folder: Folder, tar: Tar) -> list[Tar]:
    """Return the pieces of a .tar; the .tar if it is small, damaged, in a store or of large samples."""
    if tar.archive is not None or not isinstance(unfiltered(folder), LocalFolder):
        return [tar]
    with os_errors_as("read the archive", folder.url_of(tar.path)):
        found = folder.stat(tar.path)
        if found is None or found.num_bytes < 2 * PIECE_MEMBERS * _HEADER_BYTES:
            return [tar]
        try:
            with folder.open(tar.path) as file:
                starts = [0, *sample_starts(tar_members(buffered(file), found.num_bytes, may_divide=True))]
        except (BrokenTar, IndivisibleTar):
            return [tar]
    if len(starts) == 1:
        return [tar]
    bounds = zip(starts, [*starts[1:], None], strict=True)
    return [replace(tar, start=start, stop=stop, archive=found) for start, stop in bounds]


def sample_starts(members: Iterable[TarMember]) -> Iterator[int]:
    """Yield the offset of each piece after the first: between two samples, with nothing between them."""
    before: TarMember | None = None
    of_piece = 0
    for num_members, member in enumerate(members, 1):
        of_piece += 1
        if num_members == _MEASURED_MEMBERS and member.offset > num_members * MAX_MEMBER_BYTES:
            raise IndivisibleTar
        if of_piece > PIECE_MEMBERS and before is not None and _are_of_two_samples(before, member):
            yield member_end(before)
            of_piece = 1
        before = member


def _are_of_two_samples(one: TarMember, other: TarMember) -> bool:
    if one.problem or other.problem or is_junk(one) or is_junk(other):
        return False
    return sample_prefix(one.name) != sample_prefix(other.name)
