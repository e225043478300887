"""A login in the middle of a call: a server wants more than the login at hand allows, or that has ended.

The person logs in where the server sends them. A browser of this machine comes back by itself; from any other the
address at which it ended is pasted. Whichever comes first counts.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import parse_qs, urlsplit

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import BadInput
from angelia.core.text import clean, one_line
from angelia.policy.verdict import LogInForServer
from angelia.tools.asking import AskMeanwhile, NotAsked, PersonReply, Said, SaidNo
from angelia.tools.mcp.callback import LoginCallback, callback_at, returned_in
from angelia.tools.mcp.logins import LoginRefused, Returned

DECLINE = "Do not log in"


async def logged_in_again(server: str, address: str, redirect: str, ask: AskMeanwhile) -> Returned:
    """What the person brought back from `address`, whose login ends at `redirect`.

    Raises:
        LoginRefused: they do not want to, or nobody can be asked.
    """
    scope = one_line(clean(" ".join(parse_qs(urlsplit(address).query).get("scope", ()))), 200)
    async with AsyncExitStack() as stack:
        callback: LoginCallback | None = None
        try:
            callback = await stack.enter_async_context(callback_at(urlsplit(redirect).port or 0))
        except OSError:  # somebody else waits there: what is pasted counts
            callback = None
        fault = ""
        while True:
            wanted = LogInForServer(server, clean(address), scope, redirect, fault, (DECLINE,))
            came = await _first(ask, wanted, callback)
            try:
                return returned_in(came)
            except BadInput as wrong:
                fault = wrong.what


async def _first(ask: AskMeanwhile, wanted: LogInForServer, callback: LoginCallback | None) -> str:
    """The address that a browser came back with here, or that was pasted."""
    asking = asyncio.ensure_future(ask(wanted))
    waits: list[asyncio.Future[Any]] = [asking, *([callback.came] if callback else [])]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if callback and callback.came.done():
            return callback.came.result()
        return _pasted(wanted.server, await asking)
    finally:
        await cancel_and_wait(asking)


def _pasted(server: str, reply: PersonReply) -> str:
    match reply:
        case Said(words=words) if words.strip() and words.strip().casefold() != DECLINE.casefold():
            return words
        case Said():
            why = "the person does not want to"
        case SaidNo(why=said):
            why = f"the person said no{f': {said}' if said else ''}"
        case NotAsked(why=said):
            why = said.rstrip(".")
    raise LoginRefused(
        f"The MCP server {server} wants another login for this call, and there is none: {why}.",
        then=f"`angelia mcp login {server}` logs in.",
    )
