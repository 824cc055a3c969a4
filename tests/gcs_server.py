"""A Google Cloud Storage server on the loopback device: reads only, slow on purpose, every request counted.

TensorFlow's gs:// knows no address but https://storage.googleapis.com and https://www.googleapis.com. But its libcurl
goes through `https_proxy` and trusts `CURL_CA_BUNDLE`. So this server is also an HTTP proxy which, asked to CONNECT to
those, speaks TLS itself, under a certificate made at its start. pyarrow comes without TLS, by
`CLOUD_STORAGE_EMULATOR_ENDPOINT`, and asks for a token at `GCE_METADATA_ROOT`: here too.

    python tests/gcs_server.py ROOT [--latency-seconds S] [--bytes-per-second N]

prints its environment as one line of JSON, and ends with its standard input. ROOT's folders are the buckets.

Not imitated: TensorFlow opens a connection for every request, and opening one takes no round trip here.
"""

import argparse
import datetime as dt
import json
import os
import re
import ssl
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

GOOGLE_HOSTS = ("storage.googleapis.com", "www.googleapis.com")
CHUNK_BYTES = 64 << 10  # 64 KiB; turns on the link
# What a virtual machine of Google's asks its metadata server for, all in one: its account, and a token.
METADATA_ANSWER = {
    "scopes": ["https://www.googleapis.com/auth/cloud-platform"],
    "email": "testing@example.com",
    "access_token": "testing",
    "expires_in": 3600,
    "token_type": "Bearer",
}
JSON_OBJECTS = re.compile(r"/(?:download/)?storage/v1/b/([^/]+)/o(?:/(.+))?")


class Link:
    """A line of so many bytes a second; who sends waits until all before it are through."""

    def __init__(self, bytes_per_second):
        self._bytes_per_second, self._lock, self._free_at = bytes_per_second, threading.Lock(), 0.0

    def wait(self, num_bytes):
        if self._bytes_per_second is None:
            return
        with self._lock:
            now = time.monotonic()
            self._free_at = max(now, self._free_at) + num_bytes / self._bytes_per_second
            seconds = self._free_at - now
        time.sleep(seconds)


class Counts:
    def __init__(self):
        self._lock, self._at_once = threading.Lock(), 0
        names = ("requests", "body_bytes", "reads", "read_bytes", "lists", "stats", "connections", "most_at_once")
        self._numbers = dict.fromkeys(names, 0)

    def add(self, **numbers):
        with self._lock:
            for name, number in numbers.items():
                self._numbers[name] += number

    def __enter__(self):
        with self._lock:
            self._numbers["requests"] += 1
            self._at_once += 1
            self._numbers["most_at_once"] = max(self._numbers["most_at_once"], self._at_once)

    def __exit__(self, *_):
        with self._lock:
            self._at_once -= 1

    def snapshot(self):
        with self._lock:
            return dict(self._numbers)


class Server(ThreadingHTTPServer):
    request_queue_size = 256  # connections opened in one moment; the rest would try again after a second
    daemon_threads = True

    def __init__(self, root, latency_seconds, link, certificate):
        super().__init__(("127.0.0.1", 0), Handler)
        self.root, self.latency_seconds, self.link, self.counts = root, latency_seconds, link, Counts()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate)

    def handle_error(self, request, client_address):
        """Clients hang up in the middle of an answer when they have what they want: no reason to print anything."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
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

    def do_GET(self):
        address = urlsplit(self.path)
        if address.path == "/counts":
            self._answer_json(self.server.counts.snapshot(), through_link=False)
            return
        if address.path.startswith("/computeMetadata/"):
            self._answer_json(METADATA_ANSWER, through_link=False)
            return
        with self.server.counts:
            time.sleep(self.server.latency_seconds)
            query = {name: values[-1] for name, values in parse_qs(address.query).items()}
            if found := JSON_OBJECTS.fullmatch(address.path):
                bucket, name = (unquote(part or "") for part in found.groups())
                if not name:
                    self._list(bucket, query)
                elif query.get("alt") == "media":
                    self._read(bucket, name)
                else:
                    self._stat(bucket, name)
            elif found := re.fullmatch(r"/storage/v1/b/([^/]+)", address.path):
                self._stat(unquote(found[1]))
            else:
                bucket, _, name = unquote(address.path).lstrip("/").partition("/")
                self._read(bucket, name)

    def _at(self, bucket, name=""):
        """The local path; a path that leaves the root is one of nothing."""
        parts = [bucket, *name.split("/")]
        return os.path.join(self.server.root, "nothing" if ".." in parts else os.path.join(*parts))

    def _stat(self, bucket, name=None):
        self.server.counts.add(stats=1)
        if name is None and os.path.isdir(self._at(bucket)):
            self._answer_json({"kind": "storage#bucket", "id": bucket, "name": bucket, "location": "US"})
        elif name is not None and os.path.isfile(self._at(bucket, name)):
            self._answer_json(self._metadata(bucket, name))
        else:
            self._missing("bucket" if name is None else "object")

    def _metadata(self, bucket, name):
        found = os.stat(self._at(bucket, name))
        changed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(found.st_mtime))
        return {
            "kind": "storage#object",
            "id": f"{bucket}/{name}/{found.st_mtime_ns}",
            "bucket": bucket,
            "name": name,
            "size": str(found.st_size),
            "generation": str(found.st_mtime_ns),
            "metageneration": "1",
            "contentType": "application/octet-stream",
            "storageClass": "STANDARD",
            "timeCreated": changed,
            "updated": changed,
        }

    def _list(self, bucket, query):
        self.server.counts.add(lists=1)
        if not os.path.isdir(self._at(bucket)):
            self._missing("bucket")
            return
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        found = set()
        for folder, _, files in os.walk(self._at(bucket)):
            for file in files:
                name = os.path.relpath(os.path.join(folder, file), self._at(bucket))
                rest = name.removeprefix(prefix)
                if name.startswith(prefix):
                    is_below = delimiter is not None and delimiter in rest
                    found.add(prefix + rest.partition(delimiter)[0] + delimiter if is_below else name)
        start, most = int(query.get("pageToken", 0)), int(query.get("maxResults", 1000))
        page = sorted(found)[start : start + most]
        answer = {
            "kind": "storage#objects",
            "items": [self._metadata(bucket, name) for name in page if not name.endswith("/")],
            "prefixes": [name for name in page if name.endswith("/")],
        }
        if start + most < len(found):
            answer["nextPageToken"] = str(start + most)
        self._answer_json(answer)

    def _read(self, bucket, name):
        self.server.counts.add(reads=1)
        path = self._at(bucket, name)
        if not os.path.isfile(path):
            self._missing("object")
            return
        size = os.path.getsize(path)
        start, stop, status = 0, size, 200
        if asked := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            start, stop, status = int(asked[1]), min(size, int(asked[2] or size) + 1), 206
            if start >= size:
                self._answer_json({"error": {"code": 416, "message": "Range not satisfiable"}}, status=416)
                return
        headers = {"x-goog-generation": str(os.stat(path).st_mtime_ns)}
        if status == 206:
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        self._begin(status, "application/octet-stream", stop - start, headers)
        with open(path, "rb") as file:
            while start < stop:
                chunk = os.pread(file.fileno(), min(CHUNK_BYTES, stop - start), start)
                self._send(chunk)
                self.server.counts.add(read_bytes=len(chunk))
                start += len(chunk)

    def _missing(self, what):
        message = f"The specified {what} does not exist."
        self._answer_json({"error": {"code": 404, "message": message, "errors": [{"reason": "notFound"}]}}, status=404)

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


def write_certificate(path):
    """A key and a certificate of Google's hosts, signed by itself: who trusts this file trusts this server."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, GOOGLE_HOSTS[0])])
    now = dt.datetime.now(dt.timezone.utc)
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in GOOGLE_HOSTS]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    )
    encodings = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    with open(path, "wb") as file:
        file.write(key.private_bytes(*encodings))
        file.write(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--latency-seconds", type=float, default=0.0)
    parser.add_argument("--bytes-per-second", type=float)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        certificate = os.path.join(folder, "certificate.pem")
        write_certificate(certificate)
        server = Server(arguments.root, arguments.latency_seconds, Link(arguments.bytes_per_second), certificate)
        address = f"http://127.0.0.1:{server.server_port}"
        environment = {
            "CLOUD_STORAGE_EMULATOR_ENDPOINT": address,
            "CURL_CA_BUNDLE": certificate,
            "GCE_METADATA_ROOT": address.removeprefix("http://"),
            "GOOGLE_AUTH_TOKEN_FOR_TESTING": "testing",
            "NO_GCE_CHECK": "true",
            "https_proxy": address,
            "HTTPS_PROXY": address,
            "no_proxy": "127.0.0.1,localhost",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdout.write(json.dumps(environment) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
