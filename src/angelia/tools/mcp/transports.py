"""What it takes to reach servers, and what opens the way to one."""

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from angelia.beginning import named_folder
from angelia.core.errors import MissingPart
from angelia.policy.egress import ranges_named
from angelia.policy.verdict import Trust
from angelia.sandboxes.local.process_ledger import Life
from angelia.sandboxes.port import Sandbox, SandboxGone
from angelia.tools.mcp.logins import LogInAgain, SiteLogins
from angelia.tools.mcp.server import SandboxProgram, Server, ServerProgram, Site

if TYPE_CHECKING:
    from angelia.sandboxes.by_commands.sidecar import Sidecar
    from angelia.tools.mcp.sandboxed_server import SandboxedServer
    from angelia.tools.web.fetcher import Fetcher


def _no_sandbox() -> Sandbox:
    raise SandboxGone("There is no sandbox to run it in.", then="Say something first: then the sandbox is opened.")


class Transports(Struct, frozen=True):
    """What it takes to reach servers. `life` records programs. `folder` is the conversation's, empty where that is on
    another machine; `empty` gives the folder in which programs begin that name none.

    `environ` is the person's environment; `fetcher` judges addresses, with further ranges that were opened by name.
    `redact` takes known secrets out of what a server complains about. `sandbox` gives the conversation's sandbox, or
    raises SandboxGone where there is none. `logins` are the person's own, at servers of their settings.
    """

    life: Callable[[], Life]
    folder: str
    empty: Callable[[], str]
    environ: Mapping[str, str]
    fetcher: "Callable[[tuple[str, ...]], Fetcher]"
    redact: Callable[[str], str]
    sandbox: Callable[[], Sandbox] = _no_sandbox
    logins: SiteLogins | None = None


def _unheard(_: int) -> None:
    return


def _untold() -> None:
    return


class TransportTrace(Struct):
    """What was noticed on the way: the last HTTP status (0 for none), and the last words of a program that ended.
    `posted` is called with the status of what was sent, in the context in which it was; `missed` where a change of the
    server's lists may have been told to nobody.
    """

    posted: Callable[[int], None] = _unheard
    missed: Callable[[], None] = _untold
    status: int = 0
    complaint: str = ""

    def answered(self, method: str, status: int) -> None:
        """A site has answered a request of this method."""
        self.status = status
        if method == "POST":
            self.posted(status)

    def complained(self, last: str) -> None:
        """A program has ended."""
        self.complaint = last


async def way_to(
    server: Server, transports: Transports, noticed: TransportTrace, again: LogInAgain | None = None
) -> Callable[[], Any]:
    """What opens a transport to a server, as often as it is called; its secrets are read now. `again` is as in
    `oauth.stored_login`.

    Raises:
        ConfigError: one of its secrets cannot be had.
        MissingPart: the part that speaks the protocol is not installed.
    """
    match server.way:
        case ServerProgram(argv=argv, env=env, cwd=cwd):
            client = await part("client")
            variables = {**ordinary(transports.environ), **await env()}

            async def start() -> "Sidecar":
                from angelia.sandboxes.by_commands.sidecar import Sidecar

                named = named_folder(cwd, transports.folder, f"mcp.servers.{server.name}.cwd") if cwd else ""
                return await Sidecar.start(argv, variables, named or transports.empty(), transports.life())

            return lambda: client.program(start, noticed.complained)
        case SandboxProgram() as inside:
            client, sandbox = await part("client"), transports.sandbox()
            await sandbox.describe()  # it may have to be made first, which takes as long as it takes

            async def start_inside() -> "SandboxedServer":
                from angelia.tools.mcp.sandboxed_server import SandboxedServer

                return await SandboxedServer.start(sandbox, inside)

            return lambda: client.program(start_inside, noticed.complained)
        case Site(url=url, headers=headers) as to:
            web, values = await part("web"), await headers()
            login = await _login_at(server, url, transports, again)

            async def connected() -> Any:
                from angelia.http.client import http_client

                fetcher = transports.fetcher(ranges_named(url))
                if server.trust is Trust.PASSED:
                    return await web.judged_client(url, fetcher)
                client = await http_client(url, transports.environ)
                return await web.logged_in(client, url, fetcher, login) if login else client

            return lambda: web.site(to, connected, values, noticed)


async def _login_at(server: Server, url: str, transports: Transports, again: LogInAgain | None) -> Any:
    """What logs in at a site of the settings; None where the person has not, or somebody else named the site."""
    logins, names = transports.logins, server.way.names if isinstance(server.way, Site) else ()
    if logins is None or server.trust is Trust.PASSED or "authorization" in map(str.lower, names):
        return None
    found = await asyncio.to_thread(logins.read, server.name)
    if found is None or found.url != url:
        return None
    return (await part("oauth")).stored_login(server.name, url, logins, again)


async def roots_of(server: Server, transports: Transports) -> tuple[str, ...]:
    """The folder that the server may take for its own, as a URI: the conversation's; none where that is not where it
    runs. Some show the model all that lies there.
    """
    inside = isinstance(server.way, SandboxProgram)
    folder = (await transports.sandbox().describe()).workspace if inside else transports.folder
    return (Path(folder).as_uri(),) if folder else ()


async def part(name: str) -> ModuleType:
    """A module of this folder that needs the library: half a second of work, in a thread.

    Raises:
        MissingPart: it is not installed.
    """
    try:
        return await asyncio.to_thread(import_module, f"angelia.tools.mcp.{name}")
    except ModuleNotFoundError as error:
        raise MissingPart("An MCP server", "mcp") from error


_ORDINARY = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


def ordinary(environ: Mapping[str, str]) -> dict[str, str]:
    """What every program may know of the person's environment: nothing that could be a secret."""
    return {name: environ[name] for name in _ORDINARY if name in environ}
