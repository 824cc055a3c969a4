"""Build Prism, Beam's runner in Go, which DirectRunner would download, outside the checkout.

python -m tests.engines.prism

It is built from the Go module of the installed Beam's version, verified by Go's checksum database; this takes some
minutes once. Tests use it where it is there.
"""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

BEAM = version("apache-beam")
MODULE = "github.com/apache/beam/sdks/v2/go/cmd/prism"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "shardkit"
BINARY = CACHE / f"prism-{BEAM}" / "prism"


def build() -> None:
    """Build it, unless it is there."""
    if not BINARY.exists():
        subprocess.run(
            ["go", "install", f"{MODULE}@v{BEAM}"],  # noqa: S607 - whichever Go is installed
            env={**os.environ, "GOBIN": str(BINARY.parent)},
            check=True,
        )
    sys.stdout.write(f"{BINARY}\n")


if __name__ == "__main__":
    build()
