"""The objects that the server serves: local files, and uploads, which become objects when they are complete."""

import base64
import contextlib
import os
import secrets
import tempfile
import threading
import time
from dataclasses import dataclass, field

# `a/` is an object too, which web consoles create for an empty folder; a file system has no such name.
FOLDER_OBJECT = ".folder-object"
UPLOAD_QUANTUM = 256 << 10  # 256 KiB: of a broken request, an upload keeps a multiple of it


class Objects:
    """Objects below a local folder, whose folders are the buckets. Unlike a store, no `a` next to `a/b`."""

    def __init__(self, root):
        self._root, self._lock = root, threading.Lock()

    def path(self, bucket, name=""):
        """Return the local path; one that does not exist for a name that would leave the root."""
        parts = [bucket, *(name + FOLDER_OBJECT if name.endswith("/") else name).split("/")]
        return os.path.join(self._root, "nothing" if ".." in parts else os.path.join(*parts))

    def has_bucket(self, bucket):
        return os.path.isdir(self.path(bucket))

    def has(self, bucket, name):
        return os.path.isfile(self.path(bucket, name))

    def metadata(self, bucket, name):
        """Return an object's metadata as the store formats it; raise FileNotFoundError if there is none."""
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
        """Return one page of a listing.

        Returns:
            The objects' names, the prefixes that end with the delimiter, and the next page's token, empty at the end.
            A token is the last name before the page, so that no name is skipped if objects are removed in between.
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
        """Create or replace an object in one step."""
        path = self.path(bucket, name)
        with self._lock, tempfile.NamedTemporaryFile(dir=self._root, delete=False) as file:
            file.write(data)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(file.name, path)

    def copy(self, bucket, name, to_bucket, to_name):
        with open(self.path(bucket, name), "rb") as file:
            self.put(to_bucket, to_name, file.read())

    def remove(self, bucket, name):
        """Remove an object, and folders left empty: a store has none. Raise FileNotFoundError if there is no object."""
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
        """Keep bytes from `start` on (None if there are none); return False if the bytes before them are missing."""
        if self.is_finished or start is None:
            return True
        if start > len(self.data):
            return False
        self.data[start:] = data  # a client that missed the response sends bytes again
        return True

    def add_broken(self, data):
        """Keep the bytes that arrived before the connection broke."""
        self.data += data[: len(data) // UPLOAD_QUANTUM * UPLOAD_QUANTUM]

    def finish(self):
        """Note that the upload has become an object."""
        self.is_finished, self.data = True, bytearray()


class Uploads:
    def __init__(self):
        self._lock, self._open = threading.Lock(), {}

    def begin(self, bucket, name):
        """Begin an upload, and return its identifier."""
        identifier = secrets.token_hex(16)
        with self._lock:
            self._open[identifier] = Upload(bucket, name)
        return identifier

    def get(self, identifier):
        return self._open.get(identifier)

    def num_unfinished(self):
        with self._lock:
            return sum(not upload.is_finished for upload in self._open.values())
