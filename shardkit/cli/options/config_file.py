"""Options in a YAML file, by the names that they have on the command line: read for ``--config``, and written."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shardkit.errors import CallError, MachineError
from shardkit.options.definition import OPTIONS
from shardkit.options.words import words_of
from shardkit.spelling import closest
from shardkit.storage import read_text_file

if TYPE_CHECKING:
    from shardkit.dataset.manifest.parts import Source

_MAX_BYTES = 1 << 20  # 1 MiB
_YES, _NO = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})


def _take_options(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:
    """Make the options of the file the defaults of the call: flags on the command line come before them."""
    del param
    if path is not None and not ctx.resilient_parsing:
        ctx.default_map = read_config(path, ctx.command)


config_option = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_take_options,
    help="YAML file of options by their names here, such as `split-by: hash`. Flags of the call come before them.",
)


def read_config(path: Path, command: click.Command) -> dict[str, Any]:
    """Return the values of a YAML file by parameter, as text, as if they had been written on the command line.

    Paths in it are relative to the current folder, as those of flags are.

    Args:
        path: The file: a mapping of the names of options, without dashes before them, to values. A repeatable option
            may have a list, and one such as `splits` a mapping.
        command: The command. It ignores options that only `convert` has.
    """
    import yaml

    where = f"--config {path}"
    text = read_text_file(where, str(path), _MAX_BYTES)
    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except RecursionError:
        raise CallError(f"{where}: values are nested too deeply; write an option in each line") from None
    except yaml.YAMLError as error:
        raise CallError(f"{where}: this is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(root, yaml.MappingNode):
        raise CallError(f"{where}: write an option in each line, such as `splits: 80/20`")
    options = {
        name.removeprefix("--"): param
        for param in command.params
        if isinstance(param, click.Option) and param.expose_value
        for name in param.opts
        if name.startswith("--")
    }
    elsewhere = {one.flag.removeprefix("--") for one in OPTIONS.values() if "convert" in one.commands} - {*options}
    found: dict[str, Any] = {}
    for key, value in root.value:
        name, line = str(key.value), f"{where}, line {key.start_mark.line + 1}"
        if name in elsewhere:
            continue
        option = options.get(name)
        if option is None or option.name is None:
            close = closest(name, options)
            hint = f"did you mean {close}?" if close else f"see `shardkit {command.name} --help-all`"
            raise CallError(f"{line}: no such option: {name}; {hint}")
        if option.name in found:
            raise CallError(f"{line}: {name} is given twice; keep one of the lines")
        # The whole mapping is read from the file, by the option that takes a file.
        is_reading = option.name == "reading" and isinstance(value, yaml.MappingNode)
        found[option.name] = str(path) if is_reading else _value(value, option, f"{line}: {name}")
    return found


def _value(node: Any, option: click.Option, where: str) -> Any:
    """Return the value of an option as click takes it."""
    import yaml

    texts: list[str] = []
    if isinstance(node, yaml.ScalarNode):
        texts = [node.value]
    elif isinstance(node, yaml.SequenceNode) and option.multiple:
        texts = [one.value for one in node.value if isinstance(one, yaml.ScalarNode)]
    elif isinstance(node, yaml.MappingNode):
        pairs = [(key.value, one.value) for key, one in node.value if isinstance(one, yaml.ScalarNode)]
        texts = [",".join(f"{key}={one}" for key, one in pairs)] if len(pairs) == len(node.value) else []
    if not texts or not all(texts) or (isinstance(node, yaml.SequenceNode) and len(texts) < len(node.value)):
        raise CallError(f"{where} needs a value, as on the command line")
    if option.is_flag:
        word = texts[0].lower()
        if word not in _YES | _NO:
            raise CallError(f"{where} is true or false; found {texts[0]!r}")
        return word in _YES
    return texts if option.multiple else texts[0]


_OF_READINGS = ("Source", "Reading")  # headings of the options that a reading says
_ALSO = ("split_column", "group_by")


def write_config(path: str, source: "Source", given: Mapping[str, Any]) -> None:
    """Write the configuration of a call."""
    try:
        Path(path).write_text(config_text(source, given), encoding="utf-8")
    except FileNotFoundError:
        raise CallError(f"--write-config {path}: there is no such folder; make it") from None
    except OSError as error:
        raise MachineError(f"--write-config {path}: cannot write the file: {error.strerror}") from error


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
