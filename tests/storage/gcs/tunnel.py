"""HTTP of the server: requests with and without a tunnel, and responses in the store's format."""

import json
from http.server import BaseHTTPRequestHandler

GOOGLE_HOSTS = ("storage.googleapis.com", "www.googleapis.com")


class TunnelledHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.server.counts.add(connections=1)

    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        if self.path.removesuffix(":443") not in GOOGLE_HOSTS:
            self.send_error(403, f"this proxy leads to {' and '.join(GOOGLE_HOSTS)} only")
            self.close_connection = True
            return
        self.send_response(200, "Connection established")
        self.end_headers()
        # The client speaks only after this answer, so nothing of its handshake is left in the old file's buffer.
        self.connection = self.request = self.server.tls.wrap_socket(self.connection, server_side=True)
        super().setup()
        self.close_connection = False

    def _body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _missing(self, what):
        self._fail(404, f"The specified {what} does not exist.")

    def _fail(self, status, message):
        reason = {403: "forbidden", 404: "notFound"}.get(status, "backendError")
        errors = [{"message": message, "domain": "global", "reason": reason}]
        self._answer_json({"error": {"code": status, "message": message, "errors": errors}}, status=status)

    def _answer_json(self, answer, *, status=200, through_link=True):
        body = json.dumps(answer).encode()
        self._begin(status, "application/json", len(body), {})
        (self._send if through_link else self.wfile.write)(body)

    def _begin(self, status, kind, num_bytes, headers):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(num_bytes), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, data):
        self.server.link.wait(len(data))
        self.wfile.write(data)
        self.server.counts.add(body_bytes=len(data))
