"""Where a browser of this machine comes back to after a login: a port of loopback, for as long as somebody waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from angelia.core.errors import BadInput
from angelia.core.text import clean, one_line
from angelia.tools.mcp.logins import LoginRefused, Returned

PATH = "/callback"

_PAGE = b"Angelia has what it needs. You can close this page.\n"


class LoginCallback(Struct, frozen=True):
    """The address to come back to, and what came: the path with its query."""

    redirect: str
    came: asyncio.Future[str]


@asynccontextmanager
async def callback_at(port: int) -> AsyncIterator[LoginCallback]:
    """Wait at this port of 127.0.0.1, 0 for any that is free.

    Raises:
        OSError: somebody else has it.
    """
    back: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode("latin-1").split(" ")
        target = line[1] if len(line) > 1 else ""
        ours = urlsplit(target).path == PATH
        if ours and not back.done():
            back.set_result(target)
        status = b"200 OK" if ours else b"404 Not Found"
        length = str(len(_PAGE)).encode() if ours else b"0"
        writer.write(
            b"HTTP/1.1 " + status + b"\r\nContent-Type: text/plain\r\nConnection: close\r\nReferrer-Policy: no-referrer"
            b"\r\nContent-Length: " + length + b"\r\n\r\n" + (_PAGE if ours else b"")
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(visited, "127.0.0.1", port, limit=16_384, start_serving=False)
    try:
        await server.start_serving()
        yield LoginCallback(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{PATH}", back)
    finally:
        server.close()  # and nobody waits for connections that a browser opens beforehand and keeps


def returned_in(address: str) -> Returned:
    """What a login brought back in an address.

    >>> returned_in("/callback?code=a1&state=b2&iss=https%3A%2F%2Flogin.example")
    Returned(code='a1', state='b2', issuer='https://login.example')

    Raises:
        LoginRefused: the person said no there, or it went wrong.
        BadInput: it is another address.
    """
    query = {name: values[0] for name, values in parse_qs(urlsplit(address.strip()).query).items()}
    if "error" in query:
        why = one_line(clean(query.get("error_description") or query["error"]), 200)
        raise LoginRefused(f"The login was refused: {why}.", then="Nothing was changed.")
    if "code" not in query:
        raise BadInput("There is no code in this address.", then="Copy all of it, from http to its end.")
    return Returned(query["code"], query.get("state", ""), query.get("iss", ""))
