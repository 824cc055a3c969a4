"""Local folders and object stores behind one small interface, `Folder`, and what every user of files needs around it.

Here belong reading, writing and listing files, locks between processes, retries, and the wording of file errors. What
the files mean does not: nothing here knows about datasets, shards or archives.
"""

from shardkit.storage.folder import COPY_BYTES, TEMPORARY, Entry, Folder, WrappedFolder, remove_temporaries
from shardkit.storage.local import FileIdentity, LocalFolder, write_fully
from shardkit.storage.open_files import OpenFiles
from shardkit.storage.opening import open_folder, read_text_file
from shardkit.storage.remote import STORES, RemoteFolder
from shardkit.storage.store_errors import is_of_machine, is_out_of_space, os_errors_as, raise_store_failure, unreadable

__all__ = [
    "COPY_BYTES",
    "STORES",
    "TEMPORARY",
    "Entry",
    "FileIdentity",
    "Folder",
    "LocalFolder",
    "OpenFiles",
    "RemoteFolder",
    "WrappedFolder",
    "is_of_machine",
    "is_out_of_space",
    "open_folder",
    "os_errors_as",
    "raise_store_failure",
    "read_text_file",
    "remove_temporaries",
    "unreadable",
    "write_fully",
]
