"""Start the command line: ``shardkit``, and ``python -m shardkit``.

Only what must happen before any other module is loaded belongs here.
"""

import atexit
import contextlib
import os
import signal
import sys
import time
from typing import NoReturn

INTERRUPTED = 130  # the shell's exit code after Ctrl-C
AT_START = "Interrupted. Nothing was written; run the same command again to start from the beginning."


def main() -> None:
    """Run the command line.

    Until a command runs, there is nothing to clean up, so Ctrl-C ends the process at once. Python would raise
    KeyboardInterrupt inside of a module that is being loaded, which ends in a traceback or in another error. When a
    command has ended, its result counts, and Ctrl-C only ends the waiting for functions of `atexit`.
    """
    try:
        is_answered = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not if it is ignored, as by nohup
        if is_answered:
            signal.signal(signal.SIGINT, lambda *_: end_interrupted(_at_start()))
    except KeyboardInterrupt:  # of Python's own answer, until now
        end_interrupted(_at_start())
    _use_utf8()
    sys.meta_path.insert(0, _NoPandas())
    from shardkit.cli import main as run

    try:
        run(prog_name="shardkit")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if is_answered:
            signal.signal(signal.SIGINT, lambda *_: _end(code))
        # Python's own end would stop a thread of pyarrow's pool that calls Python meanwhile. C++ answers that with
        # "terminate called without an active exception", and the exit code is lost.
        atexit._run_exitfuncs()  # noqa: SLF001 - no public function runs them
        _end(code)


def _at_start() -> str:
    """Return what Ctrl-C says before the command line is read: the module that writes JSON may not be loaded."""
    is_json = "--log-format=json" in sys.argv or ("--log-format", "json") in zip(sys.argv, sys.argv[1:], strict=False)
    if not is_json:
        return AT_START
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return f'{{"time": "{now}", "level": "warning", "message": "{AT_START}"}}'


def end_interrupted(sentence: str) -> NoReturn:
    """Say that the command was interrupted, and end the process at once: exiting would wait for its threads.

    Only the system's own calls are used, because a signal may come while Python writes to the same stream.
    """
    with contextlib.suppress(OSError):  # closed by the caller, as daemons do
        os.write(2, f"{sentence}\n".encode())
    os._exit(INTERRUPTED)


def _end(code: int) -> NoReturn:
    with contextlib.suppress(OSError, RuntimeError, ValueError):  # the signal may have come while it is written
        if sys.stdout is not None:
            sys.stdout.flush()
    os._exit(code)


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
