"""Write the state of a phase as one line."""

from shardkit.cli.progress.measure import Status

_NAME_COLUMNS = 10  # of "extracting"
_BAR_COLUMNS = range(10, 21)
_BAR, _BAR_ASCII = ("━", "─"), ("#", "-")


def plain_line(status: Status) -> str:
    """Return the line of a log: ``writing: 120 of 250 images, 72 images/s, 2 s left, 1 rejected``."""
    parts = [_counts(status), _rate(status), _left(status), _rejected(status)]
    return ": ".join(filter(None, [status.phase, ", ".join(filter(None, parts))]))


def live_line(status: Status, columns: int, *, is_ascii: bool = False) -> str:
    """Return the line of a terminal, which fits into its columns: the bar, then the rate are left out first."""
    name, counts = f"{status.phase:<{_NAME_COLUMNS}} ", _counts(status)
    left = [_left(status), _rejected(status)]
    for further in ([_rate(status), *left], left):
        text = "  ".join(filter(None, [counts, ", ".join(filter(None, further))]))
        room = columns - len(name) - len(text) - 1
        if room >= _BAR_COLUMNS[0] and status.total and not status.is_listing:
            return f"{name}{_bar(status, min(room, _BAR_COLUMNS[-1]), is_ascii=is_ascii)} {text}"
        if room >= -1:
            break
    return f"{name}{text}"[:columns].rstrip()


def duration(seconds: float) -> str:
    """Return a duration as ``40 s``, ``12 min`` or ``3 h 20 min``."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _counts(status: Status) -> str:
    if status.done is None and not status.total:
        return duration(status.seconds) if status.seconds >= 1 else ""
    if status.is_listing:
        return f"{status.total:,} {status.unit} found so far" if status.total else f"listing the {status.unit}"
    done = status.done or 0
    return f"{done:,} of {status.total:,} {status.unit}" if status.total else f"{done:,} {status.unit}"


def _rate(status: Status) -> str:
    if status.rate is None:
        return ""
    return f"{status.rate:,.{0 if status.rate >= 9.5 or not status.rate else 1}f} {status.unit}/s"


def _left(status: Status) -> str:
    return "" if status.seconds_left is None else f"{duration(status.seconds_left)} left"


def _rejected(status: Status) -> str:
    word = status.rejected_word.removesuffix("s") if status.rejected == 1 else status.rejected_word
    return f"{status.rejected:,} {word}" if status.rejected else ""


def _bar(status: Status, columns: int, *, is_ascii: bool) -> str:
    full, empty = _BAR_ASCII if is_ascii else _BAR
    filled = min(columns, columns * (status.done or 0) // (status.total or 1))
    return full * filled + empty * (columns - filled)
