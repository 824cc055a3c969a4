"""Who may call the server: pages of this server, in the browser that opened the address with the token.

Everybody on the machine can connect to a port of 127.0.0.1, and every web page can make a browser send requests to it.
So a request needs the token, as a cookie or once in the address; the names in Host and Origin must be this machine's,
which stops pages that point their own name at it (DNS rebinding); and what changes a file needs the token once more, in
a header that no other page can send.

Browsers send the cookies of a host to all of its ports, also to another user's server. So everything is below a path
that nobody can guess, and the cookie is for that path.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "X-Shardkit-Token"  # noqa: S105 - a name
_HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::([0-9]{1,5}))?")
_POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Not a redirect: a browser that came from another page or from a file would not send a strict cookie to its target.
# Without an icon of its own, browsers ask for /favicon.ico.
_SIGNED_IN = (
    '<!DOCTYPE html><meta http-equiv="refresh" content="0;url={}/"><link rel="icon" href="data:,">'
    "<title>shardkit view</title>"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",  # pictures may show people
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """ASGI middleware that answers a wrong request itself, and adds the headers of security to every answer."""

    def __init__(self, app: ASGIApp, token: str, signed_in: Callable[[], None]) -> None:
        """Guard an application.

        Args:
            app: The application.
            token: The token.
            signed_in: Called when a browser has opened the address with the token.
        """
        self._app, self._token, self._signed_in = app, token, signed_in
        self._path = path_of(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        if scope["type"] != "http":  # no web sockets; uvicorn's lifespan is off
            return
        answer = self._refusal(Request(scope)) or self._app
        await answer({**scope, "root_path": self._path}, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        host = _HOST.fullmatch(headers.get("host", ""))
        if host is None:
            return PlainTextResponse("This server answers only as 127.0.0.1 or localhost.", 403)
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers['host']}":
            return PlainTextResponse("Another page sent this request.", 403)
        cookie = f"shardkit-view-{host[1] or 80}"  # cookies are shared by all ports
        given = request.query_params.get("token")
        if given is not None and request.method == "GET" and self._is_token(given):
            response = HTMLResponse(_SIGNED_IN.format(self._path))
            response.set_cookie(cookie, self._token, path=self._path, httponly=True, samesite="strict")
            self._signed_in()
            return response
        is_below = request.url.path.startswith(f"{self._path}/")
        if not (is_below and self._is_token(request.cookies.get(cookie, ""))):
            return PlainTextResponse("Open the address that `shardkit view` printed, with its token.", 403)
        if request.method not in {"GET", "HEAD"} and not self._is_token(_header(headers)):
            return PlainTextResponse(f"The header {TOKEN_HEADER} is missing or wrong; load the page again.", 403)
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._token.encode())


def new_token() -> str:
    """Return a token that nobody can guess: 256 random bits."""
    return secrets.token_urlsafe(32)


def path_of(token: str) -> str:
    """Return the path that everything is below; it tells nothing about the token."""
    return f"/{hashlib.sha256(token.encode()).hexdigest()[:32]}"


def _header(headers: Headers) -> str:
    return headers.get(TOKEN_HEADER, "")
