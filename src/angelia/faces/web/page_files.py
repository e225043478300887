"""The page's files as a browser gets them: one script, one style sheet, gzipped where it takes that.

The sources are plain ES modules and style sheets: nothing has to be built before they are served. They are put together
when the page begins to be served, without the comments and blanks that only readers need.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import ascii_lowercase, digits

from msgspec import Struct

from angelia.faces.web.page_scripts import joined

SCRIPT, STYLE = "page.js", "page.css"
_OWN_VALUE = re.compile(r"--[a-z][\w-]*")
_SIGNS = ascii_lowercase + digits
"""Of which the shortest names are."""
_SHEETS = ("tokens", "base", "frame", "conversation", "pages", "widths")
"""Later ones overrule earlier ones."""
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}


class PageFile(Struct, frozen=True):
    """What is served."""

    body: bytes
    mime: str
    tag: str


@cache
def own_page_files() -> Mapping[str, PageFile]:
    """Those of the page, put together once in a process: it takes 0.1 s of a processor."""
    return page_files(files("angelia.faces.web") / "static")


def page_files(folder: Traversable) -> Mapping[str, PageFile]:
    """By the path under which each is served.

    Raises:
        ValueError: a module cannot be put together with the others; says which and why.
    """
    sources = _read(folder)
    served = {name: body for name, body in sources.items() if not name.endswith((".js", ".css"))}
    modules = {name: body.decode() for name, body in sources.items() if name.endswith(".js")}
    served[SCRIPT] = joined(modules).encode()
    served[STYLE] = _style("\n".join(sources[f"css/{name}.css"].decode() for name in _SHEETS)).encode()
    return {name: PageFile(body, _TYPES[posixpath.splitext(name)[1]], _tag(body)) for name, body in served.items()}


@cache
def packed(body: bytes) -> bytes:
    """As gzip, the smallest that its format allows: 0.3 s of a processor for the whole page, so this waits for whoever
    is the first to ask. Further rounds of zopfli's take time and next to nothing off.
    """
    from zopfli.gzip import compress

    smaller: bytes = compress(body, numiterations=5)
    return smaller


def _tag(body: bytes) -> str:
    return f'"{sha256(body).hexdigest()[:20]}"'


def _read(folder: Traversable, within: str = "") -> dict[str, bytes]:
    """The files that are meant for browsers, by their paths: what is not there when it starts is never there."""
    found: dict[str, bytes] = {}
    for one in sorted(folder.iterdir(), key=lambda file: file.name):
        path = f"{within}{one.name}"
        if one.is_dir():
            found |= _read(one, f"{path}/")
        elif posixpath.splitext(one.name)[1] in _TYPES:
            found[path] = one.read_bytes()
    return found


def _style(text: str) -> str:
    """Without comments, without blanks where they mean nothing, and with short names for its own values, the shortest
    for those that are named most.
    """
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    often = Counter(_OWN_VALUE.findall(text)).most_common()
    short = {name: f"--{_SIGNS[at] if at < len(_SIGNS) else at}" for at, (name, _) in enumerate(often)}
    text = _OWN_VALUE.sub(lambda named: short[named[0]], text)
    return re.sub(r"\s*([{};>])\s*|([:,])\s+", r"\1\2", text).replace(";}", "}")
