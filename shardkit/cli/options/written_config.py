"""The file that ``plan --write-config`` writes: how the source is read, and the other options of the call."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardkit.errors import CallError, MachineError
from shardkit.options.definition import OPTIONS
from shardkit.options.words import words_of

if TYPE_CHECKING:
    from shardkit.dataset.manifest.parts import Source

_OF_READINGS = ("Source", "Reading")  # headings of the options that a reading says
_ALSO = ("split_column", "group_by")


def write_config(path: str, source: "Source", given: Mapping[str, Any]) -> None:
    """Write the configuration of a call.

    Args:
        path: The file.
        source: The source of its plan.
        given: The values of the options that the user gave.
    """
    try:
        Path(path).write_text(config_text(source, given), encoding="utf-8")
    except FileNotFoundError:
        msg = f"--write-config {path}: there is no such folder; make it"
        raise CallError(msg) from None
    except OSError as error:
        msg = f"--write-config {path}: cannot write the file: {error.strerror}"
        raise MachineError(msg) from error


def config_text(source: "Source", given: Mapping[str, Any]) -> str:
    """Return the text of the file."""
    import yaml

    from shardkit.sources.readings.text import as_config, from_data

    reading = source.reading
    options: dict[str, Any] = {}
    for name, value in given.items():
        option = OPTIONS.get(name)
        if option is None or (reading is not None and (option.heading in _OF_READINGS or name in _ALSO)):
            continue
        words = words_of(name, value)
        texts: Any = [word for word in words if word != option.flag]
        options[option.flag.removeprefix("--")] = True if not texts else texts if len(texts) > 1 else texts[0]
    text = "" if reading is None else as_config(from_data(reading, "the plan"))
    if reading is None:
        text = f"# The layout {source.layout} has no reading yet: it is detected again, or said by options.\n"
    return text + (str(yaml.safe_dump(options, sort_keys=False, allow_unicode=True)) if options else "")
