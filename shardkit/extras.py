"""Require the packages of an optional extra, with an error that says how to install them.

The base install has what `info`, `verify` and `--help` need. Converting and reading need the extras of setup.cfg.
"""

import contextlib
import importlib.util
import json
import os
import shlex
import sys

from shardkit.errors import MissingExtraError

# The modules that an extra of setup.cfg installs and shardkit imports.
_CONVERT = ("PIL", "defusedxml", "simplejpeg", "yaml")
MODULES = {
    "7z": ("py7zr",),
    "convert": _CONVERT,
    "beam": ("apache_beam", *_CONVERT),
    "excel": ("openpyxl",),
    "heif": ("pillow_heif",),
    "report": ("jinja2", "matplotlib", "PIL"),
    "tensorflow": ("tensorflow",),
    "view": ("starlette", "uvicorn", "PIL"),
}


def require_extra(extra: str, purpose: str, *modules: str) -> None:
    """Check that the packages of an extra are installed, without importing them.

    Args:
        extra: Name of the extra.
        purpose: What needs it, as the subject of a sentence: ``converting``.
        *modules: Those of its modules that are needed. Default: all.

    Raises:
        MissingExtraError: A package is missing.
    """
    missing = [module for module in modules or MODULES[extra] if not _is_installed(module)]
    if missing:
        raise _missing(extra, purpose, missing)


def missing_extra(error: ModuleNotFoundError, purpose: str) -> MissingExtraError | None:
    """Return the error for a failed import of an extra's package; None if it is not the package of an extra."""
    module = (error.name or "").partition(".")[0]
    return next((_missing(extra, purpose, [module]) for extra, modules in MODULES.items() if module in modules), None)


def install_command(extra: str) -> str:
    """Return the command that installs an extra: from the checkout that shardkit came from, if there is one."""
    checkout = _checkout()
    if checkout is None:
        return f"pip install 'shardkit[{extra}]'"
    return f"pip install {shlex.quote(f'{checkout}[{extra}]')}"


def _missing(extra: str, purpose: str, modules: list[str]) -> MissingExtraError:
    what = f"{', '.join(modules)}, which {'is' if len(modules) == 1 else 'are'} not installed"
    return MissingExtraError(f"{purpose} needs {what}: {install_command(extra)}")


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _checkout() -> str | None:
    """Return the checkout that shardkit was installed from, "." if it is the working directory; None if unknown."""
    import importlib.metadata  # only now: it takes as long to import as all of `import shardkit`
    from urllib.parse import unquote, urlsplit

    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the checkout, if imported from it
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        record = importlib.metadata.distribution("shardkit").read_text("direct_url.json")  # written by pip, PEP 610
        url = urlsplit(json.loads(record)["url"] if record else "")
        if url.scheme == "file":
            folder = unquote(url.path)
    if not os.path.isfile(os.path.join(folder, "setup.cfg")):
        return None
    return "." if os.path.realpath(folder) == os.path.realpath(os.curdir) else folder
