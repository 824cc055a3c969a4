"""SOURCE to OUTPUT by ConvertImages, as a user's program: the other arguments are options of Beam."""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from shardkit.beam import ConvertImages

if __name__ == "__main__":
    source, output, shards, size, *flags = sys.argv[1:]
    with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        _ = pipeline | ConvertImages(source, output, shards=int(shards), resize=int(size))
