"""``shardkit convert SOURCE OUTPUT``."""

from typing import Any

import click

from shardkit.cli.conversion_options import (
    PASS_THROUGH,
    conversion_options,
    options_from,
    runner_from,
    source_options_from,
)
from shardkit.cli.option_groups import GroupedCommand


@click.command(cls=GroupedCommand, context_settings=PASS_THROUGH)
@click.argument("source")
@click.argument("output")
@click.option("--overwrite", is_flag=True, help="Replace a different dataset in OUTPUT.")
@conversion_options
def convert(source: str, output: str, overwrite: bool, **given: Any) -> None:  # noqa: FBT001 - click's flag
    """Convert labelled images into balanced TFRecord shards with a manifest.

    SOURCE is a folder of class folders (SOURCE/<label>/**/image or SOURCE/<split>/<label>/**/image), of COCO, Pascal
    VOC, YOLO, masks, WebDataset or Hugging Face data, a table of paths and labels, a .tar or a .zip; OUTPUT is a new or
    an empty folder. Both may be local, s3:// or gs://. An interrupted conversion goes on when it is called again.

    Beam's own options (--runner, --flink_master, --project …) stand behind them and are passed on.
    """
    options, source_options = options_from(given), source_options_from(given)
    runner = runner_from(given, source, output)
    from shardkit.cli.summary import conversion_summary
    from shardkit.cli.terminal import Terminal
    from shardkit.pipelines.convert import Conversion
    from shardkit.writing.reject_limit import RejectLimit

    terminal = Terminal(quiet=given["quiet"])
    limit = RejectLimit.parse(given["max_rejected"])
    outcome = Conversion(source, source_options, output, options, runner, limit, overwrite, terminal).run()
    if outcome.unchanged:
        terminal.say(f"{output} is the finished conversion of this source already; nothing to do")
    terminal.show(conversion_summary(outcome, output))
