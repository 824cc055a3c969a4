"""The objects that the server serves: files of this machine, and uploads that are no objects before they are whole."""

import base64
import contextlib
import os
import secrets
import tempfile
import threading
import time
from dataclasses import dataclass, field

# `a/` is an object too, which consoles make for an empty folder; a file system has no such name.
FOLDER_OBJECT = ".folder-object"
UPLOAD_QUANTUM = 256 << 10  # 256 KiB; what an upload keeps of a broken request is a multiple of it


class Objects:
    """Root's folders are the buckets. The store has an object `a` beside an object `a/b`; file systems have not."""

    def __init__(self, root):
        self._root, self._lock = root, threading.Lock()

    def path(self, bucket, name=""):
        """The local path; a path that leaves the root is one of nothing."""
        parts = [bucket, *(name + FOLDER_OBJECT if name.endswith("/") else name).split("/")]
        return os.path.join(self._root, "nothing" if ".." in parts else os.path.join(*parts))

    def has_bucket(self, bucket):
        return os.path.isdir(self.path(bucket))

    def has(self, bucket, name):
        return os.path.isfile(self.path(bucket, name))

    def metadata(self, bucket, name):
        """What the store says of an object, in its own words; FileNotFoundError where there is none."""
        found = os.stat(self.path(bucket, name))
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

    def page(self, bucket, *, prefix, delimiter, with_folder_objects, token, most):
        """One page of a listing.

        Returns:
            The objects' names, the prefixes that end with the delimiter, and the next page's token, empty at the end.
            A token is the last name before the page: objects that are removed meanwhile make none be left out.
        """
        last = base64.urlsafe_b64decode(token).decode()
        names, prefixes = set(), set()
        for name in self._names(bucket):
            rest = name.removeprefix(prefix)
            if not name.startswith(prefix):
                continue
            is_below = bool(delimiter) and delimiter in rest
            if is_below:
                prefixes.add(prefix + rest.partition(delimiter)[0] + delimiter)
            if not is_below or (with_folder_objects and rest.find(delimiter) == len(rest) - len(delimiter)):
                names.add(name)
        page = sorted(name for name in names | prefixes if name > last)
        following = base64.urlsafe_b64encode(page[most - 1].encode()).decode() if len(page) > most else ""
        page = page[:most]
        return [name for name in page if name in names], [name for name in page if name in prefixes], following

    def _names(self, bucket):
        for folder, _, files in os.walk(self.path(bucket)):
            for file in files:
                name = os.path.relpath(os.path.join(folder, file), self.path(bucket))
                yield name.removesuffix(FOLDER_OBJECT) if file == FOLDER_OBJECT else name

    def put(self, bucket, name, data):
        """Make or replace an object, in one step."""
        path = self.path(bucket, name)
        with self._lock, tempfile.NamedTemporaryFile(dir=self._root, delete=False) as file:
            file.write(data)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(file.name, path)

    def copy(self, bucket, name, to_bucket, to_name):
        with open(self.path(bucket, name), "rb") as file:
            self.put(to_bucket, to_name, file.read())

    def remove(self, bucket, name):
        """FileNotFoundError where there is none. The store has no folders, so empty ones go too."""
        path = self.path(bucket, name)
        with self._lock:
            os.remove(path)
            with contextlib.suppress(OSError):
                while (path := os.path.dirname(path)) != self.path(bucket).rstrip("/"):
                    os.rmdir(path)


@dataclass
class Upload:
    """A resumable upload: the bytes kept so far, and whether they have become the object."""

    bucket: str
    name: str
    data: bytearray = field(default_factory=bytearray)
    is_finished: bool = False

    def add(self, start, data):
        """Keep bytes from `start` on, None where they are none; false where those before them are missing."""
        if self.is_finished or start is None:
            return True
        if start > len(self.data):
            return False
        self.data[start:] = data  # who missed the answer sends bytes again
        return True

    def add_broken(self, data):
        """Keep what had arrived when the connection broke."""
        self.data += data[: len(data) // UPLOAD_QUANTUM * UPLOAD_QUANTUM]

    def finish(self):
        """It is an object now."""
        self.is_finished, self.data = True, bytearray()


class Uploads:
    def __init__(self):
        self._lock, self._open = threading.Lock(), {}

    def begin(self, bucket, name):
        """The identifier of a new one."""
        identifier = secrets.token_hex(16)
        with self._lock:
            self._open[identifier] = Upload(bucket, name)
        return identifier

    def get(self, identifier):
        return self._open.get(identifier)

    def num_unfinished(self):
        with self._lock:
            return sum(not upload.is_finished for upload in self._open.values())
