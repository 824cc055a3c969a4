"""Record a real run of `shardkit convert` and `shardkit verify` as the picture in README.md.

    python sample_data/record_run.py

The commands run in a pseudo-terminal, so that they print what a user sees, colours included. What they print is laid
out as a terminal would lay it out and exported by rich as `run.svg` in this folder. Times and rates in the picture are
those of the machine that recorded it.
"""

import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS, ROWS = 98, 40
COMMANDS = [
    "shardkit convert photos OUT --splits train=0.8,validation=0.2 --shards 3",
    "shardkit verify OUT --deep --leaks",
]
# Fonts of the reader's system: rich names one on the Internet, which a picture on a page may not load.
SVG_FORMAT = re.sub(r" *@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "Fira Code, monospace", "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)
# What moves the cursor or erases; colours (which end with m) are left to rich.
_CONTROL = re.compile(r"\r|\n|\x1b\[(\??[0-9]*)([A-JKhl])")


def recorded(command: str, folder: Path) -> str:
    """Run a command in a new terminal; return everything that it wrote, escape sequences included."""
    ours, theirs = pty.openpty()
    ioctl(ours, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    program, *arguments = shlex.split(command)
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    words = [sys.executable, "-m", program, *arguments]
    process = subprocess.Popen(words, cwd=folder, stdout=theirs, stderr=theirs, stdin=theirs, env=environment)  # noqa: S603 - our own command
    os.close(theirs)
    written = b""
    while True:
        try:
            chunk = os.read(ours, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        written += chunk
    os.close(ours)
    if process.wait():
        sys.exit(f"{command} ended with {process.returncode}:\n{written.decode()}")
    return written.decode()


def screen(written: str) -> str:
    """Return the lines that stay on the screen: a progress line is erased and written again."""
    lines, row = [""], 0
    position = 0
    for found in _CONTROL.finditer(written):
        lines[row] += written[position : found.start()]
        position = found.end()
        if found[0] == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif found[2] == "A":
            row = max(0, row - int(found[1] or 1))
        elif found[2] == "K":
            lines[row] = ""
    lines[row] += written[position:]
    return "\n".join(lines)


def main() -> None:
    """Record the commands and write the picture."""
    folder = Path(tempfile.gettempdir()) / "demo"
    folder.mkdir()  # fails where somebody else's lies; its name is in the picture
    try:
        (folder / "photos").symlink_to(HERE.resolve() / "shapes")
        console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            console.print(Text.from_ansi(screen(recorded(command, folder)).strip("\n")))
            console.print()
    finally:
        shutil.rmtree(folder)
    console.save_svg(str(HERE / "run.svg"), title="shardkit", theme=MONOKAI, code_format=SVG_FORMAT, unique_id="run")
    print(HERE / "run.svg")


if __name__ == "__main__":
    main()
