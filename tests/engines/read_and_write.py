"""SOURCE to OUTPUT by ReadImages and WriteDataset, as a user's program: the other arguments are options of Beam."""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from shardkit.beam import ReadImages, WriteDataset
from shardkit.options.groups import Stored

if __name__ == "__main__":
    source, output, shards, size, *flags = sys.argv[1:]
    with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        read = pipeline | ReadImages(source).with_rejects()
        more = {"shards": int(shards), "stored": Stored(resize=int(size))}
        _ = read.examples | WriteDataset(output, source=read.source, rejects=read.rejects, **more)
