"""WebDataset: divide a large .tar of small samples into pieces that workers list at the same time.

Where a member begins is known only from the members before it, so the driver reads all headers once, several times as
fast as samples are listed. It does so only where listing is what takes the time: where samples are so large that a disk
takes longer to reach the next one, or where each read is a request to an object store, the .tar stays one part.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO

from shardkit.archives.tar_members import BrokenTar, IndivisibleTar, TarMember, buffered, member_end, tar_members
from shardkit.errors import SourceChangedError
from shardkit.sources.packed.webdataset_samples import is_junk, sample_prefix
from shardkit.sources.visibility import seen_again, unfiltered
from shardkit.storage import Entry, Folder, LocalFolder, os_errors_as

PIECE_SAMPLES = 20_000  # they are listed in a second
MAX_DIVIDED_TARS = 16  # of a source; more are parts enough, and the driver would read their headers one after the other
MAX_SAMPLE_BYTES = 64 << 10  # 64 KiB on average: a disk of 1 GB/s reads that in the time of listing it
_HEADER_BYTES = 2 * 512  # of a sample's image and label: a smaller archive has fewer samples
_MEASURED_SAMPLES = 1000  # at the beginning


@dataclass(frozen=True, slots=True)
class Tar:
    """A part of the source: one shard, or successive samples of one; small and pickled into the pipeline's graph.

    Attributes:
        path: Path of the .tar.
        split: The split of all samples, if its name or folder gives one.
        start: Offset of the first member's header.
        stop: Offset of the header after the last member; None for the end of the archive.
        archive: The .tar as the driver saw it, if it is divided: offsets mean nothing in another one.
    """

    path: str
    split: str | None
    start: int = 0
    stop: int | None = None
    archive: Entry | None = None

    def refuse_changed(self, folder: Folder) -> None:
        """Refuse to list a piece of an archive that is not the one that was divided.

        Raises:
            SourceChangedError: It has another size or time.
        """
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
    """Return the pieces of a .tar, or the .tar if it stays whole: it is small, damaged, in a store or of large samples.

    Raises:
        MachineError: The disk failed.
    """
    if tar.archive is not None or not isinstance(unfiltered(folder), LocalFolder):
        return [tar]
    with os_errors_as("read the archive", f"{folder.url}/{tar.path}"):
        found = folder.stat(tar.path)
        if found is None or found.num_bytes < 2 * PIECE_SAMPLES * _HEADER_BYTES:
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
    """Yield the offset of each piece after the first: between two samples, with nothing between them.

    Raises:
        IndivisibleTar: The samples are large.
    """
    before: TarMember | None = None
    num_samples = since_start = 0
    for member in members:
        is_plain = not member.problem and not is_junk(member)
        if before is not None and is_plain and sample_prefix(before.name) != sample_prefix(member.name):
            num_samples += 1
            since_start += 1
            end = member_end(before)
            if num_samples == _MEASURED_SAMPLES and end > num_samples * MAX_SAMPLE_BYTES:
                raise IndivisibleTar
            if since_start >= PIECE_SAMPLES:
                yield end
                since_start = 0
        before = member if is_plain else None
