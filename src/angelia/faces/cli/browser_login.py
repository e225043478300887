"""A login in the browser: an address is shown, and the browser comes back to this machine, or its address is pasted."""

import asyncio
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from angelia.core.errors import BadInput
from angelia.faces.words.output import asked, echo
from angelia.tools.mcp.logins import LoginPerson, LoginRefused, Returned

PATH = "/callback"
PASTED = f"http://127.0.0.1:8788{PATH}"
"""Where a browser of another machine ends: nobody is there, and its address is what is wanted."""

LOGIN_S = 600.0
"""Seconds in which somebody has logged in."""

_PAGE = b"Angelia has what it needs. You can close this page.\n"


@asynccontextmanager
async def browser_person(*, opens: bool) -> AsyncIterator[LoginPerson]:
    """Somebody whose browser runs on this machine: it is opened, unless they only want to see the address."""
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

    async def show(address: str) -> None:
        echo(f"Log in here, within {LOGIN_S / 60:.0f} minutes:\n\n  {address}\n", err=True)
        if opens:
            webbrowser.open(address)

    async def returned() -> Returned:
        try:
            async with asyncio.timeout(LOGIN_S):
                return returned_in(await back)
        except TimeoutError:
            raise LoginRefused("Nobody has logged in.", then="Nothing was changed; call it again.") from None

    server = await asyncio.start_server(visited, "127.0.0.1", 0, limit=16_384)
    try:
        port = server.sockets[0].getsockname()[1]
        yield LoginPerson(f"http://127.0.0.1:{port}{PATH}", show, returned)
    finally:
        server.close()  # and nobody waits for connections that a browser opens beforehand and keeps


def pasting_person() -> LoginPerson:
    """Somebody whose browser runs elsewhere, and who copies the address at which it ends."""

    async def show(address: str) -> None:
        echo(f"Log in here, in any browser:\n\n  {address}\n", err=True)
        echo(f"It ends at a page that cannot be shown ({PASTED}…). Copy its whole address.", err=True)

    async def returned() -> Returned:
        return returned_in(await asyncio.to_thread(asked, "The address", err=True))

    return LoginPerson(PASTED, show, returned)


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
        why = query.get("error_description") or query["error"]
        raise LoginRefused(f"The login was refused: {why}.", then="Nothing was changed.")
    if "code" not in query:
        raise BadInput("There is no code in this address.", then="Copy all of it, from http to its end.")
    return Returned(query["code"], query.get("state", ""), query.get("iss", ""))
