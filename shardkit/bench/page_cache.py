"""Read files into the kernel's page cache, drop them from it, and see what is in it.

Dropping needs no special rights, but not every system does it: a tmpfs has no other place for its bytes, and other
systems than Linux have no such call. So what is left is always counted.
"""

import ctypes
import mmap
import os
from collections.abc import Sequence

_READ_BYTES = 8 << 20  # 8 MiB


def warm(paths: Sequence[str]) -> None:
    """Read files, so that the page cache has them if there is enough memory."""
    buffer = bytearray(_READ_BYTES)
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def drop(paths: Sequence[str]) -> None:
    """Ask the kernel to drop files from its page cache. Does nothing where there is no such call."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # pages that are not written yet cannot be dropped
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def cached_share(paths: Sequence[str]) -> float | None:
    """Return the share of the files' pages that are in the page cache, 0 to 1; None if the system does not tell.

    The kernel tells only the owner of a file, or those who may write to it; for others it says that all pages are in
    the cache (Linux 5.2 and later).
    """
    try:
        mincore = ctypes.CDLL(None, use_errno=True).mincore
    except (OSError, AttributeError):
        return None
    mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    num_pages = num_cached = 0
    for path in paths:
        with open(path, "rb") as file:
            num_bytes = os.fstat(file.fileno()).st_size
            if not num_bytes:
                continue
            # ctypes takes the address of writable memory only, hence the private copy; nothing writes to it.
            with mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
                pages = -(-num_bytes // mmap.PAGESIZE)
                state = (ctypes.c_ubyte * pages)()
                at = ctypes.c_char.from_buffer(mapped)
                failed = mincore(ctypes.addressof(at), num_bytes, state)
                del at  # a mapping with a pointer into it cannot be closed
                if failed:
                    return None
                num_pages += pages
                num_cached += sum(page & 1 for page in state)
    return num_cached / num_pages if num_pages else None
