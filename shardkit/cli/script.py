"""The command ``shardkit script DATASET``: print a training program for a dataset."""

import click


@click.command()
@click.argument("dataset")
def script(dataset: str) -> None:
    """Print a training program for a dataset, in Keras; it is yours to change.

    \b
    shardkit script OUT > train.py
    python train.py

    The program fits the data: classes, several labels, numbers, boxes, masks, or no labels; small images or
    photographs. It trains on all GPUs of the machine, or of several machines that TF_CONFIG names, saves checkpoints
    and goes on from the last one with the same batches, and evaluates every example exactly once.
    """  # noqa: D301 - click's mark is the character, not a backslash
    from shardkit.cli.terminal import Terminal
    from shardkit.dataset.manifest import read_manifest
    from shardkit.programs import program_for

    with Terminal().phase("reading", None):
        program = program_for(read_manifest(dataset), dataset)
    click.echo(program, nl=False)
