"""The links that a package has on an index: they follow from where the checkout was cloned from, so that nobody has to
write an address down twice, and a fork's packages name the fork. Where that is no public place, there are none.

See https://hatch.pypa.io/latest/how-to/config/dynamic-metadata; a wheel that is built from a source distribution has
the links of that one.
"""

import re
import subprocess
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PATH = r"(?P<path>[^/].*?)(?:\.git)?/?"
_PUBLIC = (
    re.compile(rf"https://(?:[^/@]*@)?(?P<host>[\w.-]+\.\w+(?::\d+)?)/{_PATH}"),
    re.compile(rf"ssh://git@(?P<host>[\w.-]+\.\w+)(?::\d+)?/{_PATH}"),
    re.compile(rf"git@(?P<host>[\w.-]+\.\w+):{_PATH}"),
)


class Links(MetadataHookInterface):
    """Gives `project.urls`."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Put them into the metadata."""
        metadata["urls"] = links(_origin(self.root))


def links(origin: str) -> dict[str, str]:
    """Those of a package whose code came from this address, by the names of https://packaging.python.org, "Well-known
    Project URLs in Metadata"; a key or a name of a user in it stays here.
    """
    found = next(filter(None, (one.fullmatch(origin) for one in _PUBLIC)), None)
    if found is None:
        return {}
    home = f"https://{found['host']}/{found['path']}"
    return {"Homepage": home, "Source": home, "Issues": f"{home}/issues"}


def _origin(checkout: str) -> str:
    """Where it was cloned from; empty where that is not known, as in an unpacked archive."""
    try:
        asked = subprocess.run(  # noqa: S603 - our own words
            ["git", "-C", checkout, "config", "--local", "remote.origin.url"],  # noqa: S607 - whichever there is
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return asked.stdout.strip()
