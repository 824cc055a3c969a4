"""An S3 server on the loopback device, broken and slow on request.

    python tests/storage/s3/server.py

prints its URL and ends with its standard input. It is moto's server, in a process of its own: pyarrow waits for answers
in a destructor, where it holds the lock that a thread of the same process would need.

`POST /-/faults` sets the faults (see Faults), `GET /-/counts` returns the number of requests that were made to fail.
"""

import json
import os
import re
import socket
import struct
import sys
import threading
import time
from urllib.parse import unquote

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

SAID = {
    "AccessDenied": "Access Denied",
    "ExpiredToken": "The provided token has expired.",
    "InternalError": "We encountered an internal error. Please try again.",
    "InvalidAccessKeyId": "The AWS Access Key Id you provided does not exist in our records.",
    "NoSuchBucket": "The specified bucket does not exist",
    "RequestTimeTooSkewed": "The difference between the request time and the current time is too large.",
    "SlowDown": "Please reduce your request rate.",
}
RESET = struct.pack("ii", 1, 0)  # SO_LINGER of 0 s: closing sends RST


class Faults:
    """Requests that fail: those whose `METHOD path?query [copy]`, decoded, contains a pattern."""

    def __init__(self):
        self._lock, self._given = threading.Lock(), []
        self.num_faulty = 0

    def set(self, given):
        """Set the faults: dicts of `pattern`, `after`, `times`, `every` and `effect`; see `S3Server.fail`."""
        with self._lock:
            self._given = given

    def effect(self, request):
        """Return the effect on a request; None for none."""
        with self._lock:
            for fault in self._given:
                if not re.search(fault["pattern"], request):
                    continue
                if fault["after"] > 0:
                    fault["after"] -= 1
                elif fault["times"] != 0 and (count := fault.get("count", 0) + 1) % fault["every"]:
                    fault["count"] = count
                elif fault["times"] != 0:
                    fault["count"] = count
                    if fault["times"] is not None:
                        fault["times"] -= 1
                    self.num_faulty += 1
                    return fault["effect"]
        return None


class FaultyApplication:
    """A WSGI application around moto's."""

    def __init__(self):
        self._moto, self._faults = DomainDispatcherApplication(create_backend_app), Faults()

    def __call__(self, environ, start_response):
        path, query = unquote(environ["PATH_INFO"]), unquote(environ["QUERY_STRING"])
        if path == "/-/counts":
            return self._answer_json(start_response, self._faults.num_faulty)
        if path == "/-/faults":
            self._faults.set(json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))))
            return self._answer_json(start_response, None)
        is_copy = "HTTP_X_AMZ_COPY_SOURCE" in environ
        effect = self._faults.effect(f"{environ['REQUEST_METHOD']} {path}?{query}{' copy' * is_copy}") or {}
        time.sleep(effect.get("seconds", 0))
        if effect.get("resets"):
            # Half of the request's body has arrived.
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0) // 2)
            self._reset(environ)
        if "body" in effect:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            data = effect["body"].encode()
            start_response("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(data)))])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [data]
        if "status" in effect:
            return self._fail(environ, start_response, effect["status"], effect["code"])
        answer = self._moto(environ, start_response)
        return self._cut(environ, answer) if effect.get("cuts") else answer

    @staticmethod
    def _answer_json(start_response, value):
        data = json.dumps(value).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(data)))])
        return [data]

    @staticmethod
    def _fail(environ, start_response, status, code):
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        message = f"<Error><Code>{code}</Code><Message>{SAID[code]}</Message><RequestId>1</RequestId></Error>"
        # Status 200 for copies: S3 answers before it has copied, and may then fail.
        data = f'<?xml version="1.0" encoding="UTF-8"?>\n{message}'.encode()
        start_response(f"{status} {code}", [("Content-Type", "application/xml"), ("Content-Length", str(len(data)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [data]

    @staticmethod
    def _reset(environ):
        connection = environ["werkzeug.socket"]
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        os.close(connection.detach())  # close() would wait for the files made of it
        raise ConnectionResetError

    def _cut(self, environ, answer):
        """Send half of an answer, then break the connection."""
        data = b"".join(answer)
        yield data[: len(data) // 2]
        self._reset(environ)


class Handler(MotoRequestHandler):
    def log(self, *_):
        """Print nothing."""


def main():
    server = make_server("127.0.0.1", 0, FaultyApplication(), threaded=True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
