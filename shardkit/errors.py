"""Every error that shardkit raises on purpose: one small tree, each also the matching builtin.

A message names the file or the record, what was found and the remedy, in one sentence that can be shown to a user
as it is. ``exit_code`` is what the command line returns: 1 the data is at fault, 2 the call is, 3 the machine is.
"""


class ShardkitError(Exception):
    """Base of all errors below; catch it to catch them all."""

    exit_code = 1


class DataError(ShardkitError, ValueError):
    """The data read is not what it must be: a source, a dataset, a record."""

    exit_code = 1


class ManifestError(DataError):
    """A manifest cannot be read, is of a newer version, names a path outside its folder, or contradicts its digest."""


class RecordError(DataError):
    """A TFRecord frame or the example in it is damaged."""


class SpecialFileError(DataError, OSError):
    """A named pipe, a socket or a device where a file is expected: reading it might never end."""


class SourceChangedError(DataError):
    """A raw file is no longer what the inventory saw; converting on would break the plan."""


class CallError(ShardkitError, ValueError):
    """The call is at fault: an option, a name or a combination that cannot be honoured."""

    exit_code = 2


class UnknownNameError(CallError, KeyError):
    """A split, class or column that does not exist; the message lists those that do."""

    def __str__(self) -> str:
        # KeyError shows repr(args[0]), quotes and escapes included; a user must see the plain sentence.
        return str(self.args[0]) if self.args else ""


class UnknownArgumentError(CallError, TypeError):
    """A function has no argument of that name; the message names the one that was probably meant."""


class MachineError(ShardkitError, OSError):
    """The machine, its disk or the network is at fault; the same call may succeed elsewhere or later."""

    exit_code = 3


class StaleRunError(MachineError):
    """The run has ended or another one has taken over its output; its workers and its driver stop writing."""
