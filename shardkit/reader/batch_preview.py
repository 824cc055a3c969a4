"""Draw what a trainer gets: a batch after crops and augmentation, with labels, boxes, masks and weights."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shardkit.arguments.checks import whole_number
from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError
from shardkit.extras import require_extra
from shardkit.reader.dataset_fn import DatasetFn, input_function
from shardkit.records.contact_sheet import BLACK, TILE, Tile, contact_sheet
from shardkit.records.drawing import Annotations, draw, save_picture
from shardkit.records.html import thumbnail

if TYPE_CHECKING:
    from PIL.Image import Image

_CLASSES_SHOWN = 3  # of a label that mixes classes, the largest shares
_RGB = 3


@dataclass(frozen=True, slots=True)
class Preview:
    """The contact sheet of a batch; a notebook shows it.

    Attributes:
        image: The sheet, a PIL image.
        heading: One line that says what it shows.
    """

    image: "Image"
    heading: str

    def __repr__(self) -> str:
        return f"<Preview {self.heading}>"

    def _repr_html_(self) -> str:
        return thumbnail("a batch", lambda _: self.image)


@suggest_arguments(example="reader.preview(train_fn, step=0, path='batch.png')")
def preview(
    dataset_fn: DatasetFn, step: int = 0, path: str | os.PathLike[str] | None = "batch.png", *, num_images: int = 36
) -> Preview:
    """Draw the first images of the global batch of a step as a trainer gets them, with normalisation undone.

    Args:
        dataset_fn: The function that `make_dataset_fn` returned, with an image size.
        step: The global step.
        path: File of the contact sheet (.png, .jpg); None to write none.
        num_images: Number of images, if the batch has as many.

    Returns:
        The sheet, which a notebook shows.

    Raises:
        CallError: Elements are not (images, labels) or (images, labels, weights), there is no such step, or the path
            has another ending.
        MachineError: The file cannot be written.
        MissingExtraError: Pillow is not installed.
    """
    dataset_fn = input_function("dataset_fn", dataset_fn)
    num_images = whole_number(1)("num_images", num_images)
    if isinstance(step, str | os.PathLike):
        raise CallError(f"the path is the third argument; write reader.preview(train_fn, path={os.fspath(step)!r})")
    require_extra("convert", "preview", "PIL")
    keys = dataset_fn.batch_keys(step)
    element = dataset_fn.read_batch(step)
    images, labels, weights = _parts(element)
    pixels = dataset_fn.as_pixels(images[:num_images])
    tiles = []
    for number, picture in enumerate(pixels):
        # Padding has no key; with sampling and skipped records, the key is the one that was planned.
        key = keys[number] if number < len(keys) else "padding"
        weight = "" if weights is None else f"weight {weights[number]:.4g}: "
        tiles.append(_tile(picture, _of_example(labels, number), f"{weight}{key}", dataset_fn.class_names))
    heading = f"step {step}: {len(tiles)} of {len(images)} images of {dataset_fn!r}"
    sheet = contact_sheet(tiles, heading)
    if path is not None:
        save_picture(sheet, Path(path))
    return Preview(sheet, heading)


def _parts(element: Any) -> tuple[npt.NDArray[Any], Any, npt.NDArray[Any] | None]:
    parts = element if isinstance(element, tuple) else (element,)
    images = parts[0]
    if not isinstance(images, np.ndarray) or images.ndim != 4 or images.shape[-1] not in {1, _RGB}:
        found = type(images).__name__ if not isinstance(images, np.ndarray) else f"an array {images.shape}"
        raise CallError(
            f"preview draws elements (images, labels) with images [batch, height, width, 1 or 3]; found {found}; give "
            "make_dataset_fn an image_size, or use `shardkit preview` for the stored images"
        )
    return images, parts[1] if len(parts) > 1 else None, parts[2] if len(parts) > 2 else None


def _of_example(labels: Any, number: int) -> Any:
    if isinstance(labels, dict):
        return {name: value[number] for name, value in labels.items()}
    return None if labels is None else labels[number]


def _tile(pixels: npt.NDArray[np.uint8], label: Any, subtitle: str, classes: list[str]) -> Tile:
    from PIL import Image

    picture = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    if isinstance(label, dict) and "boxes" in label:
        real = label["labels"] >= 0  # the others are padding
        annotations = Annotations(classes, label["boxes"][real], [int(one) for one in label["labels"][real]])
    elif np.ndim(label) == 2:
        annotations = Annotations(classes, mask=label)
    else:
        annotations = Annotations(classes)
    title = [*annotations.colours.items()] or [(word, BLACK) for word in _words(label, classes)]
    return Tile(draw(picture, annotations, TILE), title, subtitle)


def _words(label: Any, classes: list[str]) -> list[str]:
    """Return a class, classes with their shares if they are mixed, or numbers."""
    if label is None or isinstance(label, dict):
        return []
    values = np.atleast_1d(label)
    if np.issubdtype(values.dtype, np.integer):
        return [Annotations(classes).name(int(value)) for value in values]
    if len(values) != len(classes) or not classes:
        return [f"{value:.6g}" for value in values]
    largest = [number for number in np.argsort(-values, kind="stable")[:_CLASSES_SHOWN] if values[number] > 0]
    return [classes[n] if values[n] == 1 else f"{classes[n]} {values[n]:.2f}" for n in largest]
