"""Sources of pairs of folders: images, and a text file of the same stem for each image, with a line for each object."""

from collections.abc import Iterator
from itertools import islice

from shardkit.naming import printable
from shardkit.reject_reasons import NO_LABEL
from shardkit.sources.detection.paired_files import FolderPair, PairedFiles, StemFiles
from shardkit.sources.detection.rows import rejected_file, rejected_image
from shardkit.sources.formats.one_image import ImageFormat
from shardkit.sources.listing import ListingRow
from shardkit.sources.walking import files_in, join, read_head
from shardkit.storage import Folder

_TRIED = 8  # label files that are tested, because the first may be empty


def has_texts(folder: Folder, path: str, kind: ImageFormat) -> bool:
    """Return whether a folder has text files of a format, judging by the first one that is not empty."""
    heads = (read_head(folder, tried) or b"" for tried in files_in(folder, path, ".txt")[:_TRIED])
    return any(kind.sniff(head) for head in islice(filter(bytes.strip, heads), 1))


class PairedTexts(PairedFiles[FolderPair, str]):
    """A source of such pairs; an image without text file is rejected, because background has an empty one."""

    __slots__ = ()
    folder: Folder
    first_index = 0  # files without a partner are listed among the pairs
    unlisted = "that no label file names"

    @property
    def note(self) -> str:
        """What the user should know."""
        return self.format.note

    def image_stem(self, stem: str) -> str:
        """Return the stem of the image that a text file is about."""
        return stem

    def describe(self) -> str:
        """See Source."""
        read = [
            f"{printable(one.annotations)}/*.txt with the images in {printable(one.images)}"
            + (f" as {one.split}" if one.split else "")
            for one in self.groups
        ]
        return f"{self.folder.url}: read {'; '.join(read)}; note: {self.note}"

    def scan(self, group: FolderPair) -> StemFiles[FolderPair]:
        """See PairedFiles."""
        files = StemFiles(group, group.annotations)
        files.add_entries(self.folder, ".txt")
        for stem in list(files.annotations):
            image_stem = self.image_stem(stem)
            if image_stem in files.images and image_stem not in files.annotations:
                files.annotations[image_stem] = files.annotations.pop(stem)
        files.pairs = sorted(files.images.keys() | files.annotations.keys())
        files.num_parsed = len(files.images)
        files.num_files = len(files.annotations) + sum(map(len, files.images.values()))
        return files

    def pair_rows(self, files: StemFiles[FolderPair], pair: str) -> Iterator[ListingRow]:
        """See PairedFiles; of several images of one stem, the label file belongs to the last one by its ending."""
        group, images, label = files.group, files.images.get(pair, []), files.annotations.get(pair)
        label_path = join(group.annotations, label.name) if label else ""
        if not images:
            message = f"there is no image of this name in {printable(group.images)}; restore it, or remove the file"
            yield rejected_file(label_path, group.split, message)
        for image in images:
            path = join(group.images, image.name)
            if label is None:
                where = printable(group.annotations)
                message = f"there is no label file of this name in {where}; add it, empty for background"
                yield rejected_image(path, group.split, image, NO_LABEL, message)
            elif image is not images[-1]:
                last = printable(images[-1].name)
                message = f"{printable(label_path)} belongs to {last!r}; rename or remove one image"
                yield rejected_image(path, group.split, image, NO_LABEL, message)
            else:
                yield from self.image_rows(files, path, group.split, image, self.read(label_path, label))
