"""The command ``shardkit script DATASET``: print a training program for a dataset."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from shardkit.programs.choosing import Library, Style


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
@click.option(
    "--style",
    type=click.Choice(["fit", "loop"]),
    help="Keras' fit with callbacks, or a training loop, which also runs on several machines. The default is fit for "
    "keras, and a loop for torch and jax.",
)
def script(dataset: str, library: "Library", style: "Style | None") -> None:
    """Print a training program for a dataset; it is yours to change.

    \b
    shardkit script OUT > train.py
    python train.py
    python train.py --epochs 50 --batch-size 128 --weights none

    The program fits the data: a class, several classes, numbers, boxes or masks; small images or photographs. It
    trains on all GPUs of the machine, saves checkpoints, and continues an interrupted training with the same batches.
    Loops train on several machines, on classes and numbers.
    """  # noqa: D301 - click's mark is the character, not a backslash
    from shardkit.cli.terminal import Terminal
    from shardkit.dataset.manifest import read_manifest
    from shardkit.errors import CallError
    from shardkit.programs.choosing import program_for

    if style == "fit" and library != "keras":
        raise CallError(f"--style fit is for --for keras; leave it out with --for {library}")
    with Terminal().phase("reading", None):
        program = program_for(read_manifest(dataset), dataset, library, style or "fit")
    click.echo(program, nl=False)
