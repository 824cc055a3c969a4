"""Convert a source of images by Apache Beam: `shardkit convert` as a program with --source and --output.

    python pipelines/convert.py --source photos --output OUT --runner=FnApiRunner

Options of `shardkit convert` are used by their flags; all others are Beam's. This is also the main of a Dataflow Flex
template, whose launcher gives every parameter as --name=value, and which must return when the job is submitted.
"""

import argparse
import sys

from shardkit.__main__ import main

parser = argparse.ArgumentParser(prog="convert.py", allow_abbrev=False, description="Other options: shardkit convert.")
parser.add_argument("--source", required=True, help="Folder or URL of the images.")
parser.add_argument("--output", required=True, help="Folder or URL of the new dataset.")
parser.add_argument("--runner", required=True, help="Beam's runner, such as FnApiRunner.")
parser.add_argument("--labels", action="append", default=[], help="Labels of a Dataflow job.")
parser.add_argument("--overwrite", nargs="?", const="true", choices=["true", "false"], help="Replace another dataset.")
known, options = parser.parse_known_args()
if "dataflow" in known.runner.lower() and "--no-wait" not in options:
    options.append("--no-wait")
if known.overwrite == "true":
    options.append("--overwrite")
of_beam = [f"--runner={known.runner}", *(f"--labels={label}" for label in known.labels)]
sys.argv[1:] = ["convert", known.source, known.output, *options, "--", *of_beam]
main()
