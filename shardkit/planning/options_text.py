"""Write the options in a manifest as the options of a command."""

import shlex
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from shardkit.option_values import NO_RULE, OWN_SPLITS
from shardkit.planning.options import ConvertOptions
from shardkit.planning.splits.splitting import shares_text

PLAN_VERSION_KEY = "plan_version"
_NO_OPTIONS = {PLAN_VERSION_KEY, "appended_to", "kept_splits"}  # the manifest lists them with the options
_SPLITTING = {"splits", "splits_of"}
# Fields whose option has another name.
FLAGS = {"shard_bytes": "--shard-size", "max_file_bytes": "--max-file-size", "pipelines": "--input-pipelines"}
_HASHED = {"drop": "FILE", "labels": "FILE", "where": "CONDITION"}  # the manifest has a hash of their content


def options_text(options: Mapping[str, Any]) -> str:
    """Return the options that are not the defaults, quoted for a shell; '' if all are.

    Shares that no conversion divided by, because the examples kept the splits of their dataset, are left out.

    Args:
        options: The manifest's `options`.
    """
    default = ConvertOptions().as_json()
    left_out = _NO_OPTIONS | (_SPLITTING if "kept_splits" in options else set())
    return " ".join(
        option_text(name, value)
        for name, value in options.items()
        if name not in left_out and value != default.get(name)
    )


def option_text(name: str, value: Any) -> str:
    """Return an option with its value, quoted for a shell.

    Args:
        name: Name of the option in the manifest.
        value: Its value there.
    """
    if name in _HASHED:
        return f"--{name} {_HASHED[name]}"
    return shlex.join(option_words(name, value))


def option_words(name: str, value: Any) -> tuple[str, ...]:
    """Return an option and its value as words of a command; see option_text."""
    if name == "strip_metadata":
        return ("--strip-metadata" if value else "--keep-metadata",)
    flag = FLAGS.get(name) or "--" + name.replace("_", "-")
    return flag, _as_text(name, value)


def _as_text(name: str, value: Any) -> str:
    if value is None:
        return OWN_SPLITS if name == "splits" else NO_RULE
    if name == "splits":  # the manifest has fractions: 4/5
        return shares_text({split: Fraction(share) for split, share in value.items()})
    if isinstance(value, Mapping):
        return ",".join(f"{split}={number}" for split, number in value.items())
    return ",".join(value) if isinstance(value, list) else str(value)
