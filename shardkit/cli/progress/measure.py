"""Measure the rate of a phase and the time that is left, and write them as a line for a terminal or a log."""

from collections import deque
from dataclasses import dataclass

SAMPLE_SECONDS = 0.5  # the shortest time between two samples: some phases report every image
RATE_SECONDS = 3  # a rate of less time is left out: workers finish many images at once
WINDOW_SECONDS = 300  # the rate is that of the last 5 minutes: steady, and it follows a change
_NAME_COLUMNS = 10  # of "extracting"
_BAR_COLUMNS = range(10, 21)
_BAR, _BAR_ASCII = ("━", "─"), ("#", "-")


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a phase at one time."""

    phase: str  # name of the phase, such as "writing"
    seconds: float  # time since the phase began
    done: int | None  # number done so far; None if the phase has reported nothing
    total: int | None  # number of all, or found so far; None if unknown
    is_listing: bool  # whether the total is still growing and nothing is done
    rate: float | None  # number per second since the work began; None if not measured yet
    rejected: int | None  # number rejected so far; None if the phase does not count it
    unit: str = "images"  # what is counted, in the plural
    rejected_word: str = "rejected"  # what rejected ones are called in text

    @property
    def seconds_left(self) -> float | None:
        """Time left at this rate; None if the rate or the total is unknown."""
        if not self.rate or not self.total or self.done is None:
            return None
        return max(0, self.total - self.done) / self.rate


class Progress:
    """The progress of one phase, from the numbers that it reports.

    The rate begins with the first image that is done: neither the start of the engine, nor the time in which images are
    listed, nor what an earlier run finished is part of it.
    """

    def __init__(
        self, phase: str, total: int | None, now: float, *, unit: str = "images", rejected_word: str = "rejected"
    ) -> None:
        """Begin a phase at `now`, the time in seconds of a clock that never runs backwards; see `Status`."""
        self._phase, self._total, self._start = phase, total, now
        self._unit, self._rejected_word = unit, rejected_word
        self._is_found = total is None  # the phase itself reports its total
        self._done: int | None = None
        self._rejected: int | None = None
        self._samples: deque[tuple[float, int]] = deque()  # (time, done), the first one with done > 0
        self._latest = (now, 0)

    def update(self, done: int, total: int | None, rejected: int | None, now: float) -> None:
        """Take a report; None leaves the total or the number of rejected as it is."""
        self._total = self._total if total is None else total
        # Parts that an earlier run left of files that have changed since count as well, until the inventory is read.
        self._done = min(done, self._total) if self._total else done
        self._rejected = self._rejected if rejected is None else rejected
        self._latest = (now, done)
        if len(self._samples) == 1 and self._samples[0][1] == done:
            self._samples.clear()  # what an earlier run finished; the work has not begun
        if done and (not self._samples or now - self._samples[-1][0] >= SAMPLE_SECONDS):
            self._samples.append(self._latest)
            while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW_SECONDS:
                self._samples.popleft()

    def status(self, now: float) -> Status:
        """Return the state of the phase."""
        return Status(
            phase=self._phase,
            seconds=now - self._start,
            done=self._done,
            total=self._total,
            is_listing=self._is_found and self._total is not None and not self._done,
            rate=self._rate(),
            rejected=self._rejected,
            unit=self._unit,
            rejected_word=self._rejected_word,
        )

    def _rate(self) -> float | None:
        if not self._samples:
            return None
        (begin, before), (end, done) = self._samples[0], self._latest
        return (done - before) / (end - begin) if end - begin >= RATE_SECONDS else None


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
