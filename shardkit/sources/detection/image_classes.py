"""Read files of single images that give classes of the whole image and no boxes: Supervisely's tags, Labelme's flags.

Files with boxes are read as boxes; what they say about whole images is counted then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LABEL, NO_LABEL
from shardkit.sources.columns import LABEL_NAMES, LISTING_SCHEMA
from shardkit.sources.detection.files_of_images import FilesOfImages, walk
from shardkit.sources.detection.paired_files import GroupFiles
from shardkit.sources.detection.rows import rejected_image
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.listing import ListingRow, count_skipped, unicode_problem
from shardkit.sources.tables.column_names import is_split
from shardkit.storage import Entry, Folder

_FIRST = 200  # files that decide how all are read
_WITH_BOXES = (
    "has boxes, unlike the first files, and classes of whole images are read; remove them, or give the files with "
    "boxes apart"
)


@dataclass(frozen=True, slots=True)
class ImageClasses:
    """What gives the classes of whole images.

    Attributes:
        attribute: Its name, such as ``tags``.
        has_several: Whether an image may have several classes.
        is_chosen: Whether the user named it: then boxes are left out.
    """

    attribute: str
    has_several: bool
    is_chosen: bool = False

    @classmethod
    def of(
        cls, url: str, attribute: str | None, images: Sequence[ImageRecord], *, is_chosen: bool = False
    ) -> "ImageClasses | None":
        """Return the classes that an attribute of some images gives; None for no attribute.

        Raises:
            DataError: It gives splits.
        """
        if attribute is None:
            return None
        values = [image.attributes.get(attribute, []) for image in images]
        every = {name for one in values for name in one}
        if len(every) > 1 and all(map(is_split, every)):
            msg = f"{url}: {attribute!r} of the images gives splits ({', '.join(sorted(every))}), and nothing classes"
            raise DataError(msg)
        return cls(attribute, any(len(one) > 1 for one in values), is_chosen)

    @property
    def read(self) -> str:
        """What is read, for descriptions."""
        return f"{'several classes' if self.has_several else 'one class'} per image from {self.attribute!r}"

    def problem(self, found: ImageRecord) -> tuple[str, str] | None:
        """Return the reason and the end of the message, if an image cannot be read."""
        num = len(found.attributes.get(self.attribute, ()))
        if has_shapes(found) and not self.is_chosen:
            return BAD_ANNOTATION, _WITH_BOXES
        if self.has_several or num == 1:
            return None
        return BAD_LABEL if num else NO_LABEL, f"has {num or 'no'} classes of {self.attribute!r}; give it one"


def has_shapes(found: ImageRecord) -> bool:
    """Return whether a file has shapes, good, bad or left out."""
    return bool(found.objects or found.problems or found.left_out)


class BoxesOrClasses(FilesOfImages):
    """A source of files with boxes, or with classes of whole images.

    Attributes:
        box_schema: The schema with boxes.
        image_classes: What gives the classes; None for boxes.
    """

    __slots__ = ()
    box_schema: pa.Schema
    image_classes: ImageClasses | None

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        if self.image_classes is None:
            return self.box_schema
        return pa.schema([*LISTING_SCHEMA, *([LABEL_NAMES] if self.image_classes.has_several else [])])

    def image_rows(
        self,
        files: GroupFiles[str, tuple[str, Entry]],
        path: str,
        split: str | None,
        image: Entry,
        found: ImageRecord | str,
    ) -> Iterator[ListingRow]:
        """See PairedFiles."""
        classes = self.image_classes
        if classes is None or isinstance(found, str) or unicode_problem(path):
            if isinstance(found, ImageRecord) and found.attributes:
                count_skipped(files.skipped, f"classes of whole images ({', '.join(found.attributes)})")
            yield from super().image_rows(files, path, split, image, found)
            return
        if bad := classes.problem(found):
            yield rejected_image(path, split, image, bad[0], f"{found.file} {bad[1]}")
            return
        names = found.attributes.get(classes.attribute, [])
        label, extra = (None, (names,)) if classes.has_several else (names[0], ())
        yield ListingRow(path, split, label, image.num_bytes, image.mtime_ns, extra=extra)


def first_images(source: FilesOfImages, folder: Folder) -> list[ImageRecord]:
    """Return what the first files of a source say, taken evenly from all; only one with shapes, if there is one."""
    pairs = walk(folder, source.annotation_ending).pairs
    images = []
    for path, entry in pairs[:: 1 + len(pairs) // _FIRST]:
        if isinstance(found := source.read(path, entry), ImageRecord):
            if has_shapes(found):
                return [found]
            images.append(found)
    return images
