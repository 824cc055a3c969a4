"""A warning at the top of the page."""

from typing import Literal, NamedTuple

Level = Literal["problem", "check", "speed"]


class Advice(NamedTuple):
    """A warning.

    Attributes:
        code: Name of the kind, for tests and links.
        level: "problem" if results will be wrong, "check" if they may be, "speed" if training input gets slower.
        sentence: What was found.
        remedy: What to do.
        section: Id of the section of the page with more about it.
        commands: Ready commands.
    """

    code: str
    level: Level
    sentence: str
    remedy: str
    section: str
    commands: tuple[str, ...] = ()
