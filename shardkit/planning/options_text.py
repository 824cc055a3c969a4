"""Write the options in a manifest as the options of a command."""

import shlex
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from shardkit.planning.options import ConvertOptions

PLAN_VERSION_KEY = "plan_version"  # not an option, though the manifest lists it with them
_FLAGS = {"shard_bytes": "--shard-size", "pipelines": "--input-pipelines"}  # others are named like their options


def options_text(options: Mapping[str, Any]) -> str:
    """Return the options that are not the defaults, quoted for a shell; '' if all are.

    Args:
        options: The manifest's `options`.
    """
    default = ConvertOptions().as_json()
    return " ".join(
        _option(name, value)
        for name, value in options.items()
        if name != PLAN_VERSION_KEY and value != default.get(name)
    )


def _option(name: str, value: Any) -> str:
    flag = _FLAGS.get(name) or "--" + name.replace("_", "-")
    return flag if value is True else f"{flag} {shlex.quote(_as_text(value))}"


def _as_text(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={_share(one)}" for name, one in value.items())
    return str(value)


def _share(value: Any) -> str:
    """Return a share of a split, which the manifest has as a fraction, as the user wrote it: 4/5 is 0.8."""
    return f"{float(Fraction(value)):g}" if isinstance(value, str) else str(value)
