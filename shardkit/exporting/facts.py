"""What only the publisher of a dataset knows, and no manifest says."""

import datetime as dt
from dataclasses import dataclass, fields

from shardkit.errors import CallError


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a published dataset; None for those that are unknown, which are left out.

    Attributes:
        title: Its name for people.
        description: What it is, in a sentence or more.
        license: Its license: an SPDX identifier such as ``cc-by-4.0``, or a URL.
        url: The URL of its web page.
        creator: The organisation that made it.
        date_published: The day of its publication, such as ``2026-05-31``.
        cite_as: How to cite it, such as a BibTeX entry.
    """

    title: str | None = None
    description: str | None = None
    license: str | None = None
    url: str | None = None
    creator: str | None = None
    date_published: str | None = None
    cite_as: str | None = None

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            CallError: A value is empty, the URL is none, or the day is not of the form YYYY-MM-DD.
        """
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None and not value.strip():
                raise CallError(f"{one.name.replace('_', '-')} is empty; leave it out if it is unknown")
        if self.url is not None and not self.url.startswith(("https://", "http://")):
            raise CallError(f"the URL {self.url!r} does not begin with https://")
        if self.date_published is not None:
            try:
                dt.date.fromisoformat(self.date_published)
            except ValueError:
                raise CallError(f"the day {self.date_published!r} is not of the form 2026-05-31") from None

    @property
    def license_url(self) -> str | None:
        """The license as a URL: an SPDX identifier has a page."""
        if self.license is None or self.license.startswith(("https://", "http://")):
            return self.license
        return f"https://spdx.org/licenses/{_SPDX.get(self.license.lower(), self.license)}.html"


# Pages of SPDX are case-sensitive; users and the Hugging Face Hub write lower case.
_SPDX = {
    name.lower(): name
    for name in (
        *("Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0"),
        *("CC-BY-ND-4.0", "CC-BY-3.0", "CC-BY-SA-3.0", "CC0-1.0", "GPL-3.0", "MIT", "MPL-2.0", "ODbL-1.0", "PDDL-1.0"),
        *("ODC-By-1.0", "CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0", "Unlicense"),
    )
}
