"""Infer the layout of the records from the first ones of some files."""

from collections.abc import Sequence
from itertools import islice

from shardkit.adoption.convert_command import convert_command
from shardkit.adoption.files import Found
from shardkit.adoption.scan_files import RecordsFile
from shardkit.dataset.foreign.found_features import Sampled
from shardkit.dataset.foreign.inferring import LayoutOverrides, infer_layout
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.foreign.tfds_folder import DATASET_INFO, FEATURES, TfdsFeatures, read_tfds_features
from shardkit.dataset.foreign.values import read_features
from shardkit.dataset.tfrecord import read_records
from shardkit.errors import DataError, RecordError
from shardkit.naming import printable
from shardkit.storage import Folder, unreadable

NUM_FILES, NUM_RECORDS = 8, 16  # files, spread over all, and records of each


def sample_records(records: Folder, files: Sequence[RecordsFile]) -> list[Sampled]:
    """Return the first records of some files.

    Raises:
        DataError: There is no record, or one is damaged.
        MachineError: A file cannot be read.
    """
    full = [file for file in files if file.num_bytes]
    chosen = [full[at * len(full) // NUM_FILES] for at in range(NUM_FILES)] if len(full) > NUM_FILES else full
    sampled = []
    for file in chosen:
        where = f"{records.url}/{printable(file.path)}"
        try:
            with records.open(file.path) as opened:
                for number, (_, data) in enumerate(islice(read_records(opened, name=where), NUM_RECORDS)):
                    sampled.append(_sampled(data, f"{where}, record {number}"))
        except RecordError as error:
            msg = f"{error}; restore the file, or leave it out"
            raise DataError(msg) from None
        except OSError as error:
            raise unreadable(where, error) from error
    if not sampled:
        msg = f"{records.url}: the files have no records; there is nothing to adopt"
        raise DataError(msg)
    return sampled


def _sampled(data: bytes, where: str) -> Sampled:
    try:
        return Sampled(where, read_features(data))
    except RecordError as error:
        msg = f"{where}: {error}"
        raise RecordError(msg) from None


def read_tfds(records: Folder) -> TfdsFeatures | None:
    """Return what the files of a TFDS dataset say that the records belong to; None if there are none."""
    features = read_if_there(records, FEATURES)
    return None if features is None else read_tfds_features(features, read_if_there(records, DATASET_INFO), records.url)


def read_if_there(folder: Folder, name: str) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    try:
        return folder.read(name) if folder.stat(name) is not None else None
    except OSError as error:
        raise unreadable(f"{folder.url}/{name}", error) from error


def adoptable_layout(
    sampled: Sequence[Sampled], overrides: LayoutOverrides, tfds: TfdsFeatures | None, found: Found
) -> RecordLayout:
    """Return the layout of the records, if the reader can read such records as they are.

    Args:
        sampled: The first records.
        overrides: What the user says.
        tfds: What the dataset's own files say; None if they are not TFDS's.
        found: The files, for errors.

    Raises:
        CallError: Several features may be the image or the label.
        DataError: None is, or the records need to be converted.
    """
    layout = infer_layout(sampled, overrides, tfds=tfds)
    problem = None
    if layout.image.form != "encoded":
        problem = f"the image in {printable(layout.image.name)!r} is stored as pixels, not as a JPEG or PNG"
    elif layout.label.is_text:
        problem = f"the labels in {printable(layout.label.name)!r} are texts, not numbers"
    if problem is not None:
        msg = f"{printable(found.records.url)}: {problem}, and records are adopted as they are; convert them: "
        raise DataError(msg + convert_command(found.records, [*found.sizes]))
    return layout
