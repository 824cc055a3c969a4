"""Find the line of an engine's error that says what went wrong.

The last line of a Java trace is a stack frame, and the first one is what the outermost layer makes of it. The cause is
the last ``Caused by:``, or the last line of a Python traceback that the engine passes on inside it.
"""

import re

_FRAME = re.compile(r"\s*(at [\w.$/<>@-]+\(.*\)|\.\.\. \d+ (more|common frames omitted)|Suppressed: .*)\s*$")
_CAUSED_BY = re.compile(r"^\s*Caused by: (.*)$")
_JAVA_ERROR = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)\b")
_TRACEBACK = "Traceback (most recent call last):"
# Beam writes the type of a worker's error before the message, and the step after it.
_PYTHON_TYPE = re.compile(r"^[\w.]+: (?=.)")
_JOB = re.compile(r"^Pipeline \S+ failed in state \w+: (?=.)")  # Beam's, before the engine's own words
_STEP = re.compile(r"\s*\[while running .*\]$")
_GRPC = re.compile(r"RpcError of RPC that terminated with:.*?\bdetails = \"(.*?)\"\n", re.DOTALL)
_MAX_CHARACTERS = 500


def cause_line(text: str) -> str:
    """Return the line of an error's text that names its cause, without the type that Python or Beam puts before it.

    Args:
        text: The text: a Python exception's, a Java trace, or one in the other. It may be empty.
    """
    if detail := _GRPC.search(text):  # grpc's Python errors, over several lines
        text = detail[1].replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    lines = text.splitlines()
    found = _python_cause(lines) or _java_cause(lines)
    if not found:
        found = next((line.strip() for line in reversed(lines) if line.strip() and not _FRAME.match(line)), "")
        found = _PYTHON_TYPE.sub("", found, count=1)
    found = _JOB.sub("", _STEP.sub("", found), count=1)
    return found if len(found) <= _MAX_CHARACTERS else f"{found[: _MAX_CHARACTERS - 1]}…"


def _python_cause(lines: list[str]) -> str:
    """Return the exception line of the last Python traceback: the first line after its indented ones."""
    starts = [i for i, line in enumerate(lines) if _TRACEBACK in line]
    if not starts:
        return ""
    for line in lines[starts[-1] + 1 :]:
        if line.strip() and not line.startswith((" ", "\t")):
            kind, colon, message = line.strip().partition(": ")
            # A bare KeyError: 'x' or ModuleNotFoundError needs its type; shardkit's own sentences do not.
            own = kind.startswith("shardkit.errors.") or kind in {"RuntimeError", "OSError"}
            return message if colon and own and message else line.strip()
    return ""


def _java_cause(lines: list[str]) -> str:
    causes = [found[1].strip() for line in lines if (found := _CAUSED_BY.match(line))]
    if causes:
        return causes[-1]
    if any(_FRAME.match(line) for line in lines) or sum(bool(_JAVA_ERROR.match(line)) for line in lines) == 1:
        return next((line.strip() for line in lines if _JAVA_ERROR.match(line)), "")
    return ""
