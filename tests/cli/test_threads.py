"""Arrow's threads: one that frees a Python object while the interpreter exits aborts a process whose work is done."""

import subprocess
import sys
from pathlib import Path

from shardkit.testing import picture, write_tree

SAMPLES = Path(__file__).parents[2] / "sample_data"
PROGRAM = """
import sys
from pathlib import Path
import pyarrow
from shardkit.cli import main
pyarrow.set_cpu_count(9)

def num_threads():
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    return len([name for name in names if not name.startswith("jemalloc")])

source, output, samples = sys.argv[1:]
import numpy  # OpenBLAS
import PIL.Image
before = num_threads()
for words in (
    ["convert", source, output], ["convert", source, output], ["append", output, source + "2"], ["info", output],
    ["verify", output], ["plan", source],
    ["convert", samples + "/hf", output + "-hf"], ["convert", samples + "/regression.parquet", output + "-table"],
):
    try:
        main(words)
    except SystemExit as done:
        assert not done.code, (words, done.code)
print("threads", num_threads() - before)
"""


def test_no_command_starts_threads_of_arrow(tmp_path):
    for i, name in enumerate(("photos", "photos2")):
        write_tree(
            tmp_path / name,
            {f"{c}/{i}-{k}.png": picture(40 * i + 20 * j + k) for j, c in enumerate(("cat", "dog")) for k in range(4)},
        )
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path / "photos"), str(tmp_path / "out"), str(SAMPLES)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "threads 0", done.stdout
