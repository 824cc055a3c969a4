"""A Google Cloud Storage server on the loopback device: slow and broken on purpose, every request counted.

TensorFlow's gs:// uses only https://storage.googleapis.com and https://www.googleapis.com. But its libcurl respects
`https_proxy` and `CURL_CA_BUNDLE`. So this server is also an HTTP proxy: when a client asks it to CONNECT to those
hosts, it speaks TLS itself, with a certificate made at its start. pyarrow connects without TLS, because of
`CLOUD_STORAGE_EMULATOR_ENDPOINT`, and gets a token from `GCE_METADATA_ROOT`, which is this server too.

    python tests/storage/gcs/server.py ROOT [--latency-seconds S] [--bytes-per-second N] [--page-size N]

prints its environment as one line of JSON, and ends with its standard input. ROOT's folders are the buckets.

Both read; pyarrow also writes, with resumable uploads (which it never cancels), rewrites and deletions only. Other
requests get status 501. Broken requests: see Faults.

Not imitated: TensorFlow opens a connection for every request, and opening one takes no round trip here.
"""

import argparse
import json
import os
import re
import ssl
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

from certificate import write_certificate
from conditions import Counts, Faults, Link
from objects import Objects, Uploads
from tunnel import GOOGLE_HOSTS, TunnelledHandler

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
REWRITE = re.compile(r"/storage/v1/b/([^/]+)/o/([^/]+)/rewriteTo/b/([^/]+)/o/([^/]+)")
UPLOAD = re.compile(r"/upload/storage/v1/b/([^/]+)/o")
CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
SAID = {403: "testing@example.com does not have access to the object. Permission denied.", 503: "Backend Error"}


class Server(ThreadingHTTPServer):
    request_queue_size = 256  # connections opened in one moment; the rest would try again after a second
    daemon_threads = True

    def __init__(self, arguments, certificate):
        super().__init__(("127.0.0.1", 0), Handler)
        self.latency_seconds, self.page_size = arguments.latency_seconds, arguments.page_size
        self.link, self.counts, self.faults = Link(arguments.bytes_per_second), Counts(), Faults()
        self.objects, self.uploads = Objects(arguments.root), Uploads()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate)

    def handle_error(self, request, client_address):
        """Print nothing if a client closes the connection during a response, which is normal."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(TunnelledHandler):
    def do_GET(self):  # noqa: N802 - http.server's name
        address = urlsplit(self.path)
        if address.path == "/counts":
            unfinished = self.server.uploads.num_unfinished()
            self._answer_json({**self.server.counts.snapshot(), "unfinished": unfinished}, through_link=False)
        elif address.path.startswith("/computeMetadata/"):
            self._answer_json(METADATA_ANSWER, through_link=False)
        else:
            self._serve(self._get)

    def do_POST(self):  # noqa: N802 - http.server's name
        if self.path == "/faults":
            self.server.faults.set(json.loads(self._body()))
            self._answer_json({}, through_link=False)
        else:
            self._serve(self._post)

    def do_PUT(self):  # noqa: N802 - http.server's name
        self._serve(self._continue_upload)

    def do_DELETE(self):  # noqa: N802 - http.server's name
        self._serve(self._delete)

    def _serve(self, answer):
        with self.server.counts:
            time.sleep(self.server.latency_seconds)
            address = urlsplit(self.path)
            # The empty page token is one, too.
            query = {name: values[-1] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
            status = self.server.faults.status(
                f"{self.command} {unquote(self.path)} {self.headers.get('Content-Range', '')}"
            )
            if status is not None:
                self.server.counts.add(failed=1)
            if status == 0:
                # Half of what was sent has arrived.
                half = self.rfile.read(int(self.headers.get("Content-Length", 0)) // 2)
                if upload := self.server.uploads.get(query.get("upload_id")):
                    upload.add_broken(half)
                self.close_connection = True
            elif status is not None:
                self._body()
                self._fail(status, SAID.get(status, "an error"))
            else:
                answer(address.path, query)

    def _get(self, path, query):
        if found := JSON_OBJECTS.fullmatch(path):
            bucket, name = (unquote(part or "") for part in found.groups())
            if not name:
                self._list(bucket, query)
            elif query.get("alt") == "media":
                self._read(bucket, name)
            else:
                self._stat(bucket, name)
        elif found := re.fullmatch(r"/storage/v1/b/([^/]+)", path):
            self._stat(unquote(found[1]))
        else:
            bucket, _, name = unquote(path).lstrip("/").partition("/")
            self._read(bucket, name)

    def _post(self, path, query):
        self._body()
        if (found := UPLOAD.fullmatch(path)) and query.get("uploadType") == "resumable":
            bucket, name = unquote(found[1]), query["name"]
            if not self.server.objects.has_bucket(bucket):
                self._missing("bucket")
                return
            self.server.counts.add(uploads=1)
            scheme = "https" if isinstance(self.connection, ssl.SSLSocket) else "http"
            words = f"uploadType=resumable&name={quote(name)}&upload_id={self.server.uploads.begin(bucket, name)}"
            location = f"{scheme}://{self.headers['Host']}{path}?{words}"
            self._begin(200, "application/json", 0, {"Location": location})
        elif found := REWRITE.fullmatch(path):
            bucket, name, to_bucket, to_name = map(unquote, found.groups())
            if not self.server.objects.has(bucket, name):
                self._missing("object")
                return
            self.server.objects.copy(bucket, name, to_bucket, to_name)
            self.server.counts.add(copies=1)
            resource = self.server.objects.metadata(to_bucket, to_name)
            done = {"done": True, "totalBytesRewritten": resource["size"], "objectSize": resource["size"]}
            self._answer_json({"kind": "storage#rewriteResponse", **done, "resource": resource})
        else:
            self._fail(501, f"{self.command} {path} is not imitated here")

    def _continue_upload(self, path, query):
        data = self._body()
        upload = self.server.uploads.get(query.get("upload_id"))
        given = CONTENT_RANGE.fullmatch(self.headers.get("Content-Range", ""))
        if upload is None or given is None:
            self._fail(404 if upload is None else 400, "no such upload" if upload is None else "no Content-Range")
        elif not upload.add(given[1] and int(given[1]), data):
            self._fail(503, "bytes are missing before these")
        elif upload.is_finished or given[2] == str(len(upload.data)):
            if not upload.is_finished:
                self.server.objects.put(upload.bucket, upload.name, upload.data)
                self.server.counts.add(writes=1, written_bytes=len(upload.data))
                upload.finish()
            self._answer_json(self.server.objects.metadata(upload.bucket, upload.name))
        else:
            kept = {"Range": f"bytes=0-{len(upload.data) - 1}"} if upload.data else {}
            self._begin(308, "application/json", 0, kept)

    def _delete(self, path, _):
        self._body()
        found = JSON_OBJECTS.fullmatch(path)
        if found is None:
            self._fail(501, f"{self.command} {path} is not imitated here")
            return
        try:
            self.server.objects.remove(*map(unquote, found.groups()))
        except FileNotFoundError:
            self._missing("object")
            return
        self.server.counts.add(removals=1)
        self._begin(204, "application/json", 0, {})

    def _stat(self, bucket, name=None):
        self.server.counts.add(stats=1)
        if name is None and self.server.objects.has_bucket(bucket):
            self._answer_json({"kind": "storage#bucket", "id": bucket, "name": bucket, "location": "US"})
        elif name is not None and self.server.objects.has(bucket, name):
            self._answer_json(self.server.objects.metadata(bucket, name))
        else:
            self._missing("bucket" if name is None else "object")

    def _list(self, bucket, query):
        self.server.counts.add(lists=1)
        if not self.server.objects.has_bucket(bucket):
            self._missing("bucket")
            return
        names, prefixes, following = self.server.objects.page(
            bucket,
            prefix=query.get("prefix", ""),
            delimiter=query.get("delimiter", ""),
            with_folder_objects=query.get("includeTrailingDelimiter") == "true",
            token=query.get("pageToken", ""),
            most=min(int(query.get("maxResults", 1000)), self.server.page_size),
        )
        items = [self.server.objects.metadata(bucket, name) for name in names if self.server.objects.has(bucket, name)]
        answer = {"kind": "storage#objects", "items": items, "prefixes": prefixes}
        self._answer_json({**answer, "nextPageToken": following} if following else answer)

    def _read(self, bucket, name):
        self.server.counts.add(reads=1)
        path = self.server.objects.path(bucket, name)
        if not os.path.isfile(path):
            self._missing("object")
            return
        size = os.path.getsize(path)
        start, stop, status = 0, size, 200
        if asked := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            start, stop, status = int(asked[1]), min(size, int(asked[2] or size) + 1), 206
            if start >= size:
                self._fail(416, "Range not satisfiable")
                return
        headers = {"x-goog-generation": str(os.stat(path).st_mtime_ns)}
        if status == 206:
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        self._begin(status, "application/octet-stream", stop - start, headers)
        with open(path, "rb") as file:
            while start < stop:
                chunk = os.pread(file.fileno(), min(CHUNK_BYTES, stop - start), start)
                self.server.counts.add(read_bytes=len(chunk))  # first: a client may ask as soon as it has all bytes
                self._send(chunk)
                start += len(chunk)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--latency-seconds", type=float, default=0.0)
    parser.add_argument("--bytes-per-second", type=float)
    parser.add_argument("--page-size", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        certificate = os.path.join(folder, "certificate.pem")
        write_certificate(certificate, GOOGLE_HOSTS)
        server = Server(arguments, certificate)
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
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        sys.stdout.write(json.dumps(environment) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
