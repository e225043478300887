"""A login in the browser: an address is shown, and the browser comes back to this machine, or its address is pasted."""

import asyncio
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from angelia.faces.words.output import asked, echo
from angelia.tools.mcp.callback import PATH, callback_at, returned_in
from angelia.tools.mcp.logins import LoginPerson, LoginRefused, Returned

PASTED = f"http://127.0.0.1:8788{PATH}"
"""Where a browser of another machine ends: nobody is there, and its address is what is wanted."""

LOGIN_S = 600.0
"""Seconds in which somebody has logged in."""


@asynccontextmanager
async def browser_person(*, opens: bool) -> AsyncIterator[LoginPerson]:
    """Somebody whose browser runs on this machine: it is opened, unless they only want to see the address."""
    async with callback_at(0) as callback:

        async def show(address: str) -> None:
            echo(f"Log in here, within {LOGIN_S / 60:.0f} minutes:\n\n  {address}\n", err=True)
            if opens:
                webbrowser.open(address)

        async def returned() -> Returned:
            try:
                async with asyncio.timeout(LOGIN_S):
                    return returned_in(await callback.came)
            except TimeoutError:
                raise LoginRefused("Nobody has logged in.", then="Nothing was changed; call it again.") from None

        yield LoginPerson(callback.redirect, show, returned)


def pasting_person() -> LoginPerson:
    """Somebody whose browser runs elsewhere, and who copies the address at which it ends."""

    async def show(address: str) -> None:
        echo(f"Log in here, in any browser:\n\n  {address}\n", err=True)
        echo(f"It ends at a page that cannot be shown ({PASTED}…). Copy its whole address.", err=True)

    async def returned() -> Returned:
        return returned_in(await asyncio.to_thread(asked, "The address", err=True))

    return LoginPerson(PASTED, show, returned)
