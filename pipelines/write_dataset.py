"""Write a dataset from image files and a CSV file of labels: a join, a filter, and WriteDataset.

    python pipelines/write_dataset.py --images photos --labels_csv labels.csv --output OUT --runner=FnApiRunner

The CSV file has the columns `image`, a path relative to the folder of the images, and `label`. Files without a label
and labels without a file are counted and left out, and so are images with a side shorter than --min_side. Options that
are not defined here are Beam's.
"""

import argparse
import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping

import apache_beam as beam
from apache_beam.io import fileio
from apache_beam.io.filesystem import FileMetadata
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics
from apache_beam.options.pipeline_options import PipelineOptions

from shardkit.beam import CheckImages, Example, WriteDataset
from shardkit.beam.options import refuse_unknown
from shardkit.errors import CallError


def absolute(path: str) -> str:
    """Return a path that is the same for workers, which may have other working directories."""
    return path.rstrip("/") if "://" in path else os.path.abspath(path)


def named(file: FileMetadata, folder: str) -> tuple[str, str]:
    """Return the path of a file relative to the folder, and its path."""
    return file.path.removeprefix(f"{folder}/"), file.path


def read_labels(path: str) -> Iterator[tuple[str, str]]:
    """Yield the path of each image with its label."""
    with FileSystems.open(path) as file:
        for row in csv.DictReader(io.TextIOWrapper(file, encoding="utf-8")):
            yield row["image"], row["label"]


def join(joined: tuple[str, Mapping[str, Iterable[str]]]) -> Iterator[Example]:
    """Yield the example of a file that has a label."""
    name, found = joined
    files, labels = list(found["files"]), list(found["labels"])
    if not files or not labels:
        Metrics.counter("write_dataset", "files_without_label" if files else "labels_without_file").inc()
        return
    if len(set(labels)) > 1:
        msg = f"{name} has the labels {sorted(set(labels))}; give one"
        raise ValueError(msg)
    yield Example(key=name, uri=files[0], label=labels[0])


def is_large(example: Example, min_side: int) -> bool:
    """Return whether both sides of the image have this many pixels."""
    return min(example.width or 0, example.height or 0) >= min_side


def main() -> None:
    """Run the pipeline and print the dataset and what was rejected."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--images", required=True, type=absolute, help="Folder or URL of the images.")
    parser.add_argument("--labels_csv", required=True, type=absolute, help="CSV file with the columns image and label.")
    parser.add_argument("--output", required=True, help="Folder or URL of the new dataset.")
    parser.add_argument("--splits", default="train=0.8,validation=0.2", help="Shares of the splits.")
    parser.add_argument("--resize", type=int, help="Shorter side of the stored images.")
    parser.add_argument("--min_side", type=int, default=32, help="Shorter side of the smallest image that is kept.")
    known, beam_options = parser.parse_known_args()
    refuse_unknown(tuple(beam_options), ["--images", "--labels_csv", "--output", "--splits", "--resize", "--min_side"])

    with beam.Pipeline(options=PipelineOptions(beam_options)) as pipeline:
        files = (
            pipeline
            | "MatchFiles" >> fileio.MatchFiles(f"{known.images}/**")  # FileMetadata
            | "NameFiles" >> beam.Map(named, known.images)  # (name, path)
        )
        labels = (
            pipeline
            | "NameTable" >> beam.Create([known.labels_csv])  # path
            | "ReadLabels" >> beam.FlatMap(read_labels)  # (name, label)
        )
        checked = (
            {"files": files, "labels": labels}
            | "JoinByName" >> beam.CoGroupByKey()  # (name, {"files": [path], "labels": [label]})
            | "Join" >> beam.FlatMap(join).with_output_types(Example)  # Example
            | CheckImages().with_rejects()  # Example with width and height
        )
        written = (
            checked.examples
            | "KeepLarge" >> beam.Filter(is_large, known.min_side)  # Example
            | WriteDataset(known.output, splits=known.splits, resize=known.resize)
        )
        rejects = (checked.rejects, written.rejects) | "AllRejects" >> beam.Flatten()  # Reject
        _ = rejects | "PrintRejects" >> beam.Map(print)
        _ = written.manifest | "PrintDataset" >> beam.Map(print)  # PublishedDataset


if __name__ == "__main__":
    try:
        main()
    except CallError as error:  # an option that is wrong, before anything runs
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
