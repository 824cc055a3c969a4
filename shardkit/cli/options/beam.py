"""Read a command line whose last options may be those of Apache Beam.

If `--runner` is given, unknown options are Beam's. Options after `--` are always Beam's: `--labels` is one of both. All
other unknown options and superfluous paths are shardkit's to answer: passed on to Beam, they would get an answer about
Beam.
"""

import logging
from collections.abc import Sequence

import click

from shardkit.errors import CallError, MissingExtraError
from shardkit.spelling import closest

RUNNER = "--runner"
LOG_LEVEL = "--default_sdk_harness_log_level"  # Beam's; with it, what Beam logs is printed
SEPARATOR = "--"
# Words that users try, which no command has. Their answers are sentences that follow "no such option: …; ".
_ANSWERS = {
    "--dry-run": "`shardkit plan SOURCE` shows what would be written and writes nothing",
    "--dryrun": "`shardkit plan SOURCE` shows what would be written and writes nothing",
    "--json": "`plan`, `info` and `verify` print JSON; after this conversion run `shardkit info OUTPUT --json`",
    "--verbose": "progress and a summary are printed unless --quiet is given",
    "--force": "--overwrite replaces a different dataset in OUTPUT",
    "--output": "OUTPUT is the second argument: shardkit convert SOURCE OUTPUT",
    "--input": "SOURCE is the first argument: shardkit convert SOURCE OUTPUT",
    "--no-wait": (
        "only `convert` has it, whose job publishes by itself; this command works in its own process after the job: "
        "leave the option out and let the process wait, for example as a step of a scheduler. The same command goes "
        "on if it is interrupted"
    ),
}


class BeamOptionsCommand(click.Command):
    """A command with an argument `beam_options`, which is its last."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command's own options strictly, unless a runner is named."""
        at = args.index(SEPARATOR) if SEPARATOR in args else len(args)
        own, after = args[:at], tuple(args[at + 1 :])
        if answered := next((arg for arg in own if arg in _ANSWERS and arg not in _options(self)), None):
            raise unknown_option(answered, self)  # Beam has none of these names
        ctx.ignore_unknown_options = any(arg == RUNNER or arg.startswith(f"{RUNNER}=") for arg in own)
        try:
            rest = super().parse_args(ctx, own)
        except click.NoSuchOption as error:
            raise unknown_option(error.option_name, self) from None
        ctx.params["beam_options"] = self.take_paths(ctx, ctx.params["beam_options"])
        if ctx.params["beam_options"] and not ctx.ignore_unknown_options:
            paths = [ctx.params[param.name] for param in self.params if _is_path(param) and param.name]
            raise _superfluous([*paths, *ctx.params["beam_options"]], self)
        ctx.params["beam_options"] += after
        shows_log = any(option.startswith(LOG_LEVEL) for option in ctx.params["beam_options"])
        root = logging.getLogger()
        if ctx.params["beam_options"] and not shows_log and not root.handlers:
            # Beam would print to standard error: up to eight traces of hundreds of lines for one step that fails. It
            # adds a handler only where there is none.
            root.addHandler(logging.NullHandler())
        return rest

    def take_paths(self, ctx: click.Context, extra: tuple[str, ...]) -> tuple[str, ...]:
        """Return the arguments after the paths that are not further paths; a command may take these from `extra`."""
        del ctx
        return extra


def _options(command: click.Command) -> list[str]:
    return [option for param in command.params for option in param.opts if option.startswith("--")]


def path_names(command: click.Command) -> list[str]:
    """Return the names of a command's paths as its help prints them: SOURCE and OUTPUT."""
    return [param.make_metavar(click.get_current_context()) for param in command.params if _is_path(param)]


def _is_path(param: click.Parameter) -> bool:
    return isinstance(param, click.Argument) and param.name != "beam_options"


def unknown_option(name: str, command: click.Command) -> CallError:
    """Return the error for an option that a command lacks, with what the user may have meant."""
    own = _options(command)
    close = closest(name, own)
    answer = _ANSWERS.get(name) if any(param.name == "source" for param in command.params) else None
    hint = answer or (f"did you mean {close}?" if close else _beam_hint(name))
    return CallError(f"no such option: {name}; {hint or f'see `shardkit {command.name} --help`'}")


def _beam_hint(name: str) -> str | None:
    try:
        from shardkit.beam.options import known_options
    except MissingExtraError:
        known = [RUNNER]
    else:
        known = known_options()
    close = closest(name, known)
    if close == RUNNER:
        return f"did you mean {RUNNER}?"
    if name in known:
        return f"it is an option of Apache Beam; add {RUNNER} to use it"
    return f"did you mean {close}, an option of Apache Beam? Add {RUNNER} to use it" if close else None


def _superfluous(paths: Sequence[str], command: click.Command) -> CallError:
    """Return the error for a call with more paths than the command has."""
    from shardkit.options.call import Call, Command
    from shardkit.sources.given_files import files_refusal

    wanted = path_names(command)
    images = paths[:-1] if len(wanted) > 1 else paths
    if wanted[0] == "SOURCE" and (refusal := files_refusal(images)):
        name: Command = "plan" if command.name == "plan" else "convert"
        refusal.call = Call(name, tuple(images), paths[-1] if len(wanted) > 1 else None)
        return refusal
    what = " and ".join(wanted)
    msg = f"{command.name} takes {what}; found {len(paths)} paths: {', '.join(map(repr, paths[:4]))}"
    msg += ", …" if len(paths) > 4 else ""
    if wanted[0] == "SOURCE":
        msg += "; of several sources each must exist"
    return CallError(f"{msg}; quote a path that has blanks")
