"""What is known of a server before it is spoken to: its name, the way to it, and whose word there is for it."""

import hashlib
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from msgspec import Struct

from angelia.core.text import clean, one_line
from angelia.policy.verdict import Trust, UseServer
from angelia.sandboxes.port import Reach

Late = Callable[[], Awaitable[Mapping[str, str]]]
"""Reads environment variables or headers, with their secrets, at the moment they are needed.

Raises ConfigError when one of them cannot be had.
"""

HIDDEN = "…"
"""Stands where a secret stood."""

_SECRETIVE = r"(?i)key|token|secret|passw|pwd|auth|cred|cookie|bearer|private|\bpat\b|_pat\b"
_LOGIN = r"(?<=//)[^/@\s]+(?=@)"


class ServerProgram(Struct, frozen=True):
    """A server that is a process of this machine, spoken to over its pipes.

    `names` are those of the variables that `env` reads; `cwd` is where it begins, absolute or
    relative to the conversation's folder; in an empty folder if it is empty.
    """

    argv: tuple[str, ...]
    env: Late
    names: tuple[str, ...] = ()
    cwd: str = ""


class SandboxProgram(Struct, frozen=True):
    """A server that is a command of the conversation's sandbox, spoken to over its pipes.

    `names` are those of the variables that `env` reads; `cwd` is absolute or relative to the workspace.
    """

    argv: tuple[str, ...]
    env: Late
    names: tuple[str, ...] = ()
    cwd: str = ""
    reach: Reach = Reach.CONFINED


class Site(Struct, frozen=True):
    """A server that is reached by HTTP; `names` are those of the headers. `sse` is the older of the two transports."""

    url: str
    headers: Late
    names: tuple[str, ...] = ()
    transport: Literal["http", "sse"] = "http"


class Server(Struct, frozen=True):
    """One server. `seconds` is how long a call of its tools may be silent."""

    name: str
    way: ServerProgram | SandboxProgram | Site
    trust: Trust
    seconds: float = 300.0

    @property
    def shown(self) -> str:
        """Its command line or address as a person may read it, whole: what looks like a secret is left out."""
        match self.way:
            case ServerProgram(argv=argv) | SandboxProgram(argv=argv):
                words = [word if HIDDEN in word else shlex.quote(word) for word in without_secrets(argv)]
                return clean(" ".join(words))
            case Site(url=url):
                return clean(plain(url))

    @property
    def pattern(self) -> str:
        """What a yes to it is remembered as: another command, address, variable or header is another server."""
        match self.way:
            case ServerProgram(argv=argv, names=names, cwd=cwd):
                what, told = argv[0].rpartition("/")[2], [*argv, "", *names, "", cwd]
            case SandboxProgram(argv=argv, names=names, cwd=cwd, reach=reach):
                what, told = argv[0].rpartition("/")[2], [*argv, "", *names, "", cwd, "", "sandbox", reach]
            case Site(url=url, names=names, transport=transport):
                queries = sorted(name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True))
                what, told = urlsplit(url).netloc.rpartition("@")[2], [plain(url), transport, *queries, "", *names]
        mark = hashlib.sha256("\0".join(told).encode("utf-8", "replace")).hexdigest()[:10]
        return f"server: {one_line(clean(self.name), 40)} ({one_line(clean(what), 60)} {mark})"

    def effect(self, tool: str = "", *, looks: bool = False) -> UseServer:
        """What it is to use one of its tools, or to begin with it."""
        url = self.way.url if isinstance(self.way, Site) else ""
        reach = self.way.reach if isinstance(self.way, SandboxProgram) else Reach.OUTSIDE
        return UseServer(self.name, tool, self.shown, self.pattern, self.trust, url, looks, reach.value)


def given(values: Mapping[str, str]) -> Late:
    """Values that are there already."""

    async def late() -> Mapping[str, str]:
        return values

    return late


def secretive(name: str, value: str) -> bool:
    """Whether a variable or header is a secret, by its name or because its value looks drawn by lot.

    >>> secretive("GITHUB_TOKEN", "x"), secretive("LOG_LEVEL", "debug"), secretive("ID", "a8f3Kq0Zp2Lm9Xw4")
    (True, False, True)
    """
    drawn = re.fullmatch(r"[\w.~+=-]{16,}", value) and re.search(r"\d", value) and re.search(r"[A-Za-z]", value)
    return bool(re.search(_SECRETIVE, name) or drawn)


def without_secrets(argv: Sequence[str]) -> list[str]:
    """A command line in which what looks like a secret is left out.

    >>> without_secrets(["serve", "--api-key", "abc", "TOKEN=abc", "postgres://me:abc@host/db"])
    ['serve', '--api-key', '…', 'TOKEN=…', 'postgres://…@host/db']
    """
    shown, hide = [], False
    for word in argv:
        name, equals, _ = word.partition("=")
        flag = bool(re.search(_SECRETIVE, name)) and len(name) < 60
        if hide and not word.startswith("-"):
            shown.append(HIDDEN)
        elif equals and flag:
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(re.sub(_LOGIN, HIDDEN, word))
        hide = flag and not equals and word.startswith("-")
    return shown


def plain(url: str) -> str:
    """A URL without what may hold a secret: login, query, fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
