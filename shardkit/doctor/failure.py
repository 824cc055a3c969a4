"""The sentence for a runner that failed: its cause, what it means, and where the rest is."""

from shardkit.doctor.cause import cause_line
from shardkit.doctor.hints import hint_for


def failure_sentence(error: str, log: str, log_path: str | None) -> str:
    """Return the sentence.

    Args:
        error: Text of the runner's error.
        log: The end of what Beam and the engine logged.
        log_path: The file with the whole log; None if there is none.
    """
    cause = cause_line(error) or cause_line(log) or "it gave no reason"
    hint = hint_for(error, log)
    # A full stop: causes and hints have commas and semicolons of their own.
    sentence = f"the runner failed: {cause.rstrip('.')}" + (f". Likely: {hint}" if hint else "")
    return f"{sentence}. The engine's messages are in {log_path}" if log_path else sentence
