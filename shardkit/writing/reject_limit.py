"""How many bad images a conversion puts up with: a count, or a share of all."""

from dataclasses import dataclass
from fractions import Fraction

from shardkit.errors import CallError


@dataclass(frozen=True, slots=True)
class RejectLimit:
    """At most ``count`` images, or at most ``share`` of them, whichever is given."""

    text: str
    count: int | None
    share: Fraction | None

    @classmethod
    def parse(cls, text: str) -> "RejectLimit":
        """Read ``5%`` or ``100``.

        Raises:
            CallError: neither, or out of range.
        """
        wrong = CallError(f"--max-rejected is a count such as 100 or a share such as 5%; found {text!r}")
        number = text.strip().removesuffix("%").strip()
        try:
            value = Fraction(number)
        except (ValueError, ZeroDivisionError):
            raise wrong from None
        if text.strip().endswith("%"):
            if not 0 <= value <= 100:
                raise wrong
            return cls(text.strip(), None, value / 100)
        if value < 0 or value.denominator != 1:
            raise wrong
        return cls(text.strip(), int(value), None)

    def allows(self, num_rejected: int, num_files: int) -> bool:
        """Whether so many of so many may be bad."""
        if self.count is not None:
            return num_rejected <= self.count
        return self.share is None or num_rejected <= self.share * num_files
