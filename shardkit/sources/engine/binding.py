"""A reading while it is opened: its label files are looked at, which completes it."""

from dataclasses import dataclass, replace

from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.readings.values import Annotation, Reading
from shardkit.storage import Folder


@dataclass(slots=True)
class Binding:
    """A reading, and the folder that it is read in."""

    tree: Folder  # SOURCE, where the paths of label files start
    folder: Folder  # the folder that keys start at
    images: ImagePaths
    reading: Reading

    def complete(self, old: Annotation, new: Annotation) -> None:
        reading, label = self.reading, self.reading.label
        self.reading = replace(
            reading,
            boxes=new if reading.boxes == old else reading.boxes,
            label=replace(label, origin=new) if label is not None and label.origin == old else label,
            split=new if reading.split == old else reading.split,
            mask=new if reading.mask == old else reading.mask,
        )
