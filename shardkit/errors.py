"""The errors that shardkit raises: a small tree, in which each error also inherits the matching builtin.

A message is one sentence for the user that names the file or record, what was found and the remedy. ``exit_code`` is
the exit code of the command line: 1 for faults of the data, 2 of the call, 3 of the machine.
"""


class ShardkitError(Exception):
    """Base class of all errors of shardkit."""

    exit_code = 1


class DataError(ShardkitError, ValueError):
    """A source, a dataset or a record is invalid."""

    exit_code = 1


class ManifestError(DataError):
    """A manifest is missing, damaged, of a newer version, or names a path outside its folder."""


class RecordError(DataError):
    """A TFRecord frame or the example in it is damaged."""


class SpecialFileError(DataError, OSError):
    """A named pipe, a socket or a device where a file is expected: reading it might never end."""


class MemberError(DataError, OSError):
    """A member of an archive that is damaged, encrypted or packed in an unusual way."""


class BombError(MemberError):
    """A member of an archive that claims to unpack to far more than any picture has."""


class SourceChangedError(DataError):
    """A source file has changed since the inventory; going on would contradict the plan."""


class CallError(ShardkitError, ValueError):
    """An option, a name or a combination of options is invalid."""

    exit_code = 2


class UnknownNameError(CallError, KeyError):
    """A split, class or column does not exist; the message lists the existing ones."""

    def __str__(self) -> str:
        # KeyError would show repr(args[0]), with quotes and escapes.
        return str(self.args[0]) if self.args else ""


class UnknownArgumentError(CallError, TypeError):
    """A function has no argument of that name; the message suggests the closest valid one."""


class MissingExtraError(CallError, ImportError):
    """A package of an optional extra is not installed; the message has the command that installs it."""


class SignatureError(CallError, TypeError):
    """A function lacks an argument, or has one by position that must be named; the message shows a call."""


class MachineError(ShardkitError, OSError):
    """The machine, its disk or the network failed; the same call may succeed later or on another machine."""

    exit_code = 3


class StoreError(MachineError):
    """An object store refuses all requests or does not answer; the message has its words and the remedy."""


class StaleRunError(MachineError):
    """The run has ended or another run has taken over its output; its workers and driver must stop writing."""
