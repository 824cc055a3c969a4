"""An environment with PyTorch and Grain, which the tests' own environment lacks: both bring gigabytes.

It is made once, in pytest's cache folder (`.pytest_cache/d/torch-and-grain`, 6 GB with PyPI's PyTorch). The variable
SHARDKIT_TORCH_PYTHON names the interpreter of another one.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..pages import CHECKOUT

VARIABLE = "SHARDKIT_TORCH_PYTHON"
MODULES = (
    "import torch, torchvision, grain, array_record, webdataset, PIL, pyarrow, pydantic, google_crc32c, click, rich"
)
_REQUIRED = ["grain", "array_record", "webdataset", "pillow>=12.1.1"]
_CPU_WHEELS = "https://download.pytorch.org/whl/cpu"  # a tenth of the size, where this index can be reached
_INSTALL_SECONDS = 1800


def python_with_torch(cache_folder):
    """Return the interpreter of the environment; skip the test if it cannot be made.

    Args:
        cache_folder: Folder that the environment is kept in.
    """
    if given := os.environ.get(VARIABLE):
        done = _run(given, "-c", MODULES)
        assert done.returncode == 0, f"{VARIABLE}={given}: {done.stderr}"
        return given
    folder = Path(cache_folder) / "venv"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of several test processes makes it
        python = str(folder / "bin/python")
        if not folder.exists() or _run(python, "-c", MODULES).returncode:
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, python)
    return python


def _make(folder, python):
    install = (python, "-m", "pip", "install", "-q", "--no-cache-dir", "--retries", "0")
    _run(sys.executable, "-m", "venv", folder)
    packages = ("torch", "torchvision")
    from_pypi = (*install, *packages)
    if _run(*install, *packages, "--index-url", _CPU_WHEELS).returncode:
        _demand(_run(*from_pypi), "torch")
    _demand(_run(*install, *_REQUIRED, str(CHECKOUT)), "grain and shardkit")
    # The tests run the checkout; only what shardkit requires stays installed.
    _run(python, "-m", "pip", "uninstall", "-q", "-y", "shardkit")
    _demand(_run(python, "-c", MODULES), "what was installed")


def _demand(done, what):
    if done.returncode:
        pytest.skip(f"{what} cannot be installed here: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")


def _run(*command):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
    )
