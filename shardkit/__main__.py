"""Start the command line: ``shardkit``, and ``python -m shardkit``.

Only what must happen before any other module is loaded belongs here.
"""

import contextlib
import os
import signal
import sys

INTERRUPTED = 130  # the shell's exit code after Ctrl-C


def main() -> None:
    """Run the command line.

    Until a command runs, there is nothing to clean up, so Ctrl-C ends the process at once. Python would raise
    KeyboardInterrupt inside of a module that is being loaded, which ends in a traceback or in another error.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if the caller ignores Ctrl-C, like nohup
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    _use_utf8()
    sys.meta_path.insert(0, _NoPandas())
    from shardkit.cli import main as run

    run(prog_name="shardkit")


class _NoPandas:
    """Finder of modules that hides pandas: pyarrow imports it for any column that becomes a NumPy array.

    That takes 1 s of CPU time before the first line of a command, and no command uses pandas.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _use_utf8() -> None:
    """Start Python again in its UTF-8 mode if the locale has another encoding.

    File names are UTF-8 bytes on every host. Decoded by a locale with ISO-8859-1 they would be other keys and classes.
    """
    # The variable is set by the first start already; `python -E` ignores it.
    if sys.getfilesystemencoding() == "utf-8" or os.environ.get("PYTHONUTF8") == "1" or not sys.executable:
        return
    again = [sys.executable, *sys.orig_argv[1:]]
    with contextlib.suppress(OSError):  # without it, options that are not ASCII may be misread; names of files are not
        os.execve(sys.executable, again, {**os.environ, "PYTHONUTF8": "1"})  # noqa: S606 - the same program


if __name__ == "__main__":
    main()
