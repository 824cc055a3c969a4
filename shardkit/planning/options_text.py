"""Write the options in a manifest as the options of a command."""

import shlex
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from shardkit.planning.options import ConvertOptions
from shardkit.planning.splits.splitting import shares_text
from shardkit.planning.written_options import reads_written_options

PLAN_VERSION_KEY = "plan_version"
_NO_OPTIONS = {PLAN_VERSION_KEY, "appended_to"}  # the manifest lists them with the options
_FLAGS = {"shard_bytes": "--shard-size", "pipelines": "--input-pipelines"}  # others are named like their options
_FILES = {"drop", "labels"}  # the manifest has the hash of their content


@reads_written_options
def options_text(options: Mapping[str, Any]) -> str:
    """Return the options that are not the defaults, quoted for a shell; '' if all are.

    Args:
        options: The manifest's `options`.
    """
    default = ConvertOptions().as_json()
    return " ".join(
        _option(name, value)
        for name, value in options.items()
        if name not in _NO_OPTIONS and value != default.get(name)
    )


def _option(name: str, value: Any) -> str:
    if name in _FILES:
        return f"--{name} FILE"
    flag = _FLAGS.get(name) or "--" + name.replace("_", "-")
    return flag if value is True else f"{flag} {shlex.quote(_as_text(name, value))}"


def _as_text(name: str, value: Any) -> str:
    if name == "splits":  # the manifest has fractions: 4/5
        return shares_text({split: Fraction(share) for split, share in value.items()})
    if isinstance(value, Mapping):
        return ",".join(f"{split}={number}" for split, number in value.items())
    return ",".join(value) if isinstance(value, list) else str(value)
