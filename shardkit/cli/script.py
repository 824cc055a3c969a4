"""The command ``shardkit script DATASET``: print a training program for a dataset."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from shardkit.programs.choosing import Library


@click.command()
@click.argument("dataset")
@click.option(
    "--for",
    "library",
    type=click.Choice(["keras", "torch", "jax"]),
    default="keras",
    show_default=True,
    help="Library to train with; Keras on TensorFlow, PyTorch with torchvision, or JAX with Flax and Optax.",
)
def script(dataset: str, library: "Library") -> None:
    """Print a training program for a dataset; it is yours to change.

    \b
    shardkit script OUT > train.py
    python train.py

    The program fits the data: classes, several labels, numbers, boxes, masks, or no labels; small images or
    photographs. It trains on all GPUs of the machine, or of several machines, saves checkpoints and goes on from the
    last one with the same batches, and evaluates every example exactly once.
    """  # noqa: D301 - click's mark is the character, not a backslash
    from shardkit.cli.terminal import Terminal
    from shardkit.dataset.manifest import read_manifest
    from shardkit.programs import program_for

    with Terminal().phase("reading", None):
        program = program_for(read_manifest(dataset), dataset, library)
    click.echo(program, nl=False)
