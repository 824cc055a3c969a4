"""A stand-in for the APIs of Dataflow and Cloud Storage that keeps what is sent to them, for one test.

It knows only what Beam calls to submit a job. A job is done as soon as it is created, and no worker ever starts.
"""

import base64
import json
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import google_crc32c

BUCKET = "shardkit-test-bucket"
JOB_ID = "2026-01-01_00_00_00-1"


class DataflowServer(ThreadingHTTPServer):
    """Listens on the loopback device while its context is open.

    Attributes:
        jobs: Bodies of the requests that create a job, as JSON.
        uploads: Uploaded objects by their names.
        metadata_name: Names of uploads that go on, by their ids.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.jobs, self.uploads, self.names = [], {}, {}

    @property
    def url(self):
        return f"http://localhost:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return super().__enter__()

    def __exit__(self, *error):
        self.shutdown()
        return super().__exit__(*error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        if "/jobs/" in self.path:
            self._answer(_job())
        elif re.search(r"/b/[^/]+(\?|$)", self.path):
            self._answer({"name": BUCKET, "location": "US-CENTRAL1", "softDeletePolicy": {}})
        elif re.search(r"/o(\?|$)", self.path):
            self._answer({"items": []})
        else:
            self._answer({"error": {"code": 404, "message": "not found"}}, 404)

    def do_POST(self):
        body, query = self._body(), urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        if "/jobs" in self.path:
            self.server.jobs.append(json.loads(body))
            self._answer(_job())
        elif query.get("uploadType") == ["multipart"]:
            boundary = self.headers["content-type"].partition("boundary=")[2].strip("'\"").encode()
            described, data = (part.partition(b"\r\n\r\n")[2] for part in body.split(b"--" + boundary)[1:3])
            self._store(json.loads(described)["name"], data.removesuffix(b"\r\n"))
        else:  # resumable
            number = str(len(self.server.names))
            self.server.names[number] = json.loads(body)["name"]
            self._answer({}, headers={"location": f"{self.server.url}/upload/resumable?upload_id={number}"})

    def do_PUT(self):
        number = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["upload_id"][0]
        self._store(self.server.names[number], self._body())

    def _store(self, name, data):
        self.server.uploads[name] = data
        checksum = base64.b64encode(google_crc32c.Checksum(data).digest()).decode()
        stored = {"name": name, "bucket": BUCKET, "size": str(len(data)), "crc32c": checksum, "generation": "1"}
        self._answer(stored)

    def _body(self):
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _answer(self, fields, code=200, headers=()):
        body = json.dumps(fields).encode()
        self.send_response(code)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **dict(headers),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _job():
    return {
        "id": JOB_ID,
        "projectId": "shardkit-test",
        "name": "job",
        "location": "us-central1",
        "currentState": "JOB_STATE_DONE",
        "createTime": "2026-01-01T00:00:00Z",
    }
