"""A PCollection of photographs, written by one of Beam's users' ways to TFRecords.

python beam_writers.py PHOTOS OUTPUT NUM shardkit|resize|tfrecord|tfds

PHOTOS are class folders of JPEGs. Element i is one of them with a comment of its own, so that all NUM are different
files; they are made in the pipeline, and no folder holds them. All run on the runner that Beam has in this process.
"""

import argparse
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

logging.disable(logging.WARNING)

import apache_beam as beam  # noqa: E402 - quietly

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sources import with_comment  # noqa: E402

RUNNER = "FnApiRunner"
BATCHES = 100  # elements that are spread, of NUM / 100 photographs each
SHORTER_SIDE = 256


def photographs(batch: int, photos: list[str], num: int) -> Iterator[tuple[str, str, bytes]]:
    """Key, label and file of the photographs of a batch."""
    for i in range(batch, num, BATCHES):
        path = Path(photos[i % len(photos)])
        yield f"{path.parent.name}/{i:06d}.jpg", path.parent.name, with_comment(path.read_bytes(), str(i).encode())


def rows(photos: list[str], num: int) -> Any:
    """Return the step before the writer; `reshuffle=False`: only numbers would pass."""
    return beam.Create(range(BATCHES), reshuffle=False) | beam.FlatMap(photographs, photos, num)


def shardkit(photos: list[str], output: str, num: int, stored: Any) -> None:
    """Write a balanced dataset with a manifest."""
    from shardkit.beam import Example, WriteDataset

    with beam.Pipeline(RUNNER) as pipeline:
        _ = (
            pipeline
            | rows(photos, num)
            | beam.MapTuple(lambda key, label, image: Example(key, image, label=label))
            | WriteDataset(output, stored=stored)
        )


def tfrecord(photos: list[str], output: str, num: int) -> None:
    """Write records into files that the runner chooses, unshuffled and unchecked."""
    from shardkit.dataset import example

    def record(key: str, label: str, image: bytes) -> bytes:
        features = {"key": key.encode(), "label": label.encode(), "image": image}
        return example.encode({name: example.bytes_feature([value]) for name, value in features.items()})

    with beam.Pipeline(RUNNER) as pipeline:
        _ = pipeline | rows(photos, num) | beam.MapTuple(record) | beam.io.WriteToTFRecord(f"{output}/train")


def tfds(photos: list[str], output: str, num: int) -> None:
    """Write a dataset of TFDS; images are given with their bytes, which its features take as a file."""
    import io

    import tensorflow_datasets as tfds
    from apache_beam.options.pipeline_options import PipelineOptions

    labels = sorted({Path(path).parent.name for path in photos})

    class Photographs(tfds.core.GeneratorBasedBuilder):  # type: ignore[misc] # untyped
        """Photographs with labels."""

        VERSION = tfds.core.Version("1.0.0")

        def _info(self) -> Any:
            features = {
                "image": tfds.features.Image(encoding_format="jpeg"),
                "label": tfds.features.ClassLabel(names=labels),
                "key": tfds.features.Text(),
            }
            return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

        def _split_generators(self, dl_manager: Any) -> Any:
            del dl_manager
            return {"train": self._generate_examples()}

        def _generate_examples(self) -> Any:
            return rows(photos, num) | beam.MapTuple(
                lambda key, label, image: (key, {"image": io.BytesIO(image), "label": label, "key": key})
            )

    options = tfds.download.DownloadConfig(beam_runner=RUNNER, beam_options=PipelineOptions([]))
    Photographs(data_dir=output).download_and_prepare(download_config=options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path)
    parser.add_argument("output")
    parser.add_argument("num", type=int)
    parser.add_argument("writer", choices=["shardkit", "resize", "tfrecord", "tfds"])
    given = parser.parse_args()
    photos = sorted(str(path) for path in given.photos.glob("*/*"))
    if given.writer in {"shardkit", "resize"}:
        from shardkit.options.groups import Stored

        stored = Stored(resize=SHORTER_SIDE) if given.writer == "resize" else None
        shardkit(photos, given.output, given.num, stored)
    else:
        {"tfrecord": tfrecord, "tfds": tfds}[given.writer](photos, given.output, given.num)


if __name__ == "__main__":
    main()
