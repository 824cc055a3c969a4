"""Errors of the operating system in one sentence."""

import errno

import pytest

from shardkit.errors import CallError, MachineError
from shardkit.storage import is_out_of_space, os_errors_as


@pytest.mark.parametrize(
    ("raised", "turned_into", "sentence"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file"), MachineError, "/a: cannot write: No such file"),
        (PermissionError(errno.EACCES, "Permission denied"), MachineError, "/a: cannot write: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), MachineError, "/a: cannot write: No space left on device"),
        (OSError("a store's own words"), MachineError, "/a: cannot write: a store's own words"),
        (MachineError("said already"), MachineError, "said already"),
        (CallError("said already"), CallError, "said already"),
    ],
)
def test_errors_of_the_machine_become_one_sentence(raised, turned_into, sentence):
    with pytest.raises(turned_into) as found, os_errors_as("write", "/a"):
        raise raised
    assert str(found.value) == sentence


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, ""), True),
        (OSError(errno.EDQUOT, ""), True),
        (OSError(errno.EIO, ""), False),
        (ValueError(errno.ENOSPC), False),
    ],
)
def test_a_full_disk_is_told_from_other_errors(error, full):
    assert is_out_of_space(error) is full
