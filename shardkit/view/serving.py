"""Serve the page on this machine until Ctrl-C."""

import contextlib
import getpass
import html
import os
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from pathlib import Path

from starlette.types import ASGIApp

from shardkit.errors import CallError
from shardkit.options.words import flag_of

_HOST = "127.0.0.1"
_GRACE_SECONDS = 2  # for requests that are being answered
_REDIRECTING = (
    '<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={0}"><title>shardkit view</title>'
    '<p><a href="{0}">Open the page</a></p>\n'
)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a port of this machine; 0 for any free one.

    Raises:
        CallError: The port is taken, or reserved.
    """
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        flag = flag_of("port")
        msg = f"{flag} {port} cannot be used: {error.strerror}; give another number, or no {flag} for a free port"
        raise CallError(msg) from None


def address(listening: socket.socket, token: str) -> str:
    """Return the address that opens the page."""
    return f"http://{_HOST}:{listening.getsockname()[1]}/?token={token}"


def way_from_elsewhere(listening: socket.socket, environment: Mapping[str, str]) -> str | None:
    """Return what to type on the user's own machine if this one is reached by ssh; None if it is not."""
    if "SSH_CONNECTION" not in environment:
        return None
    port = listening.getsockname()[1]
    return f"ssh -N -L {port}:{_HOST}:{port} {getpass.getuser()}@{socket.gethostname()}"


def has_browser(environment: Mapping[str, str]) -> bool:
    """Return whether a browser can open a window here; one in the terminal would hide it."""
    has_screen = sys.platform == "darwin" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & environment.keys())
    return has_screen and "SSH_CONNECTION" not in environment


@contextlib.contextmanager
def redirecting_file(folder: Path, url: str) -> Iterator[Path | None]:
    """Write a page that only this user can read and that opens an address; it is removed at the end.

    A browser gets what it opens as an argument, which every user of the machine can read in /proc: the address itself,
    with its token, must not be there. The folder is the user's and not a temporary one, because browsers that are
    installed as snaps have a /tmp of their own.

    Args:
        folder: The folder of the file.
        url: The address.

    Yields:
        The file; None if it cannot be written there, or if the file system has no permissions.
    """
    try:
        descriptor, name = tempfile.mkstemp(".html", "shardkit-view-", folder)  # for this user only
    except OSError:
        yield None
        return
    file = Path(name).absolute()
    try:
        with open(descriptor, "w", encoding="utf-8") as page:
            is_private = not os.fstat(descriptor).st_mode & 0o077  # not on the disks of Windows
            if is_private:
                page.write(_REDIRECTING.format(html.escape(url)))
        yield file if is_private else None
    finally:
        file.unlink(missing_ok=True)


def serve(app: ASGIApp, listening: socket.socket, *, opened: Path | None) -> None:
    """Answer requests until Ctrl-C or SIGTERM.

    Args:
        app: The application.
        listening: The socket; closed at the end.
        opened: File to open in the browser; None for none.
    """
    import uvicorn

    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    if opened is not None:  # the socket listens already: the browser waits for the first answer
        threading.Thread(target=webbrowser.open, args=(opened.as_uri(),), daemon=True).start()
    with listening, contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it has ended
        uvicorn.Server(config).run(sockets=[listening])
