"""Draw the contact sheet in shardkit/records/README.md from the COCO samples.

Run `python sample_data/draw_preview.py` after a change of the drawing.
"""

import tempfile
from pathlib import Path

from shardkit.cli import main

HERE = Path(__file__).parent


def draw() -> None:
    """Convert the samples, and write `preview.png` in this folder."""
    with tempfile.TemporaryDirectory() as folder:
        main(["convert", str(HERE / "coco"), f"{folder}/OUT", "--quiet"], standalone_mode=False)
        main(["preview", f"{folder}/OUT", "-n", "8", "-o", str(HERE / "preview.png")], standalone_mode=False)


if __name__ == "__main__":
    draw()
