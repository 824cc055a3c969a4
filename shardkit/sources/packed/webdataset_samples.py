"""WebDataset: group the members of a .tar into samples, and detect whether a .tar has samples at all."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from shardkit.archives.tar_members import BrokenTar, TarMember, buffered, tar_members
from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.listing import ending, is_ignored
from shardkit.sources.packed.webdataset_labels import SUFFIXES, LabelReader
from shardkit.storage import Folder, os_errors_as

_PROBED_SAMPLES = 200  # enough to tell shards from a tree that was packed folder by folder


@dataclass(frozen=True, slots=True)
class Probe:
    """Properties of the first samples of a .tar.

    Attributes:
        are_labelled: Whether an image has a label next to it.
        have_lists: Whether such a label is a list of classes.
        depths: Numbers of folders above the images.
    """

    are_labelled: bool
    have_lists: bool
    depths: frozenset[int]

    @property
    def is_plain_tree(self) -> bool:
        """Whether this is an ordinary tree: images are in folders, and none has a label next to it."""
        return not self.are_labelled and max(self.depths, default=0) > 0

    @property
    def is_deep_tree(self) -> bool:
        """Whether this is an ordinary tree without an image in a single folder, which could be its class."""
        return self.is_plain_tree and 1 not in self.depths


def probe(folder: Folder, path: str, json_keys: tuple[str, ...]) -> Probe:
    """Look at the first samples of a .tar.

    Args:
        folder: The folder that the path starts at.
        path: Path of an uncompressed .tar; a broken one is read up to the damage.
        json_keys: See LabelReader.
    """
    are_labelled = have_lists = False
    depths: set[int] = set()
    url = f"{folder.url}/{path}"
    with os_errors_as("read the archive", url):
        found = folder.stat(path)
        with folder.open(path) as raw:
            file = buffered(raw)
            reader = LabelReader(file, json_keys, is_multi_label=True)
            members = _unbroken(tar_members(file, found.num_bytes if found else 0))
            for sample in islice(samples(members), _PROBED_SAMPLES):
                images = [one for one in sample if ending(one.name) in IMAGE_ENDINGS]
                labels = labels_of(sample)
                depths.update(one.name.count("/") for one in images)
                if images and labels:
                    are_labelled = True
                    have_lists = have_lists or reader.is_list(labels)
    return Probe(are_labelled, have_lists, frozenset(depths))


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
