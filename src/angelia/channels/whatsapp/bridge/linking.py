"""A personal number is linked: a code is shown, the phone scans it, and the login is kept."""

import shutil
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from angelia.channels.failures import LoginFailed
from angelia.channels.whatsapp.bridge.process import Bridge

LOGGED_OUT = frozenset({401, 403, 411})
"""How a connection ends whose login is no good any more (Baileys, `DisconnectReason`)."""

_TRIES = 3
"""Linking ends with a restart, and a login that was revoked with another."""

_SCAN = "On the phone: Settings, Linked devices, Link a device. Then scan this:"


async def linked(start: Callable[[], Awaitable[Bridge]], login: Path, show: Callable[[str], None]) -> str:
    """The number, once it is linked; the bridge keeps its login in the folder `login`.

    Raises:
        LoginFailed: nobody scanned the code, or the connection did not hold.
        NotSent: the bridge cannot be started.
    """
    why = "the bridge ended"
    for _ in range(_TRIES):
        bridge = await start()
        try:
            last = await _last(bridge, show)
        finally:
            await bridge.end()
        if last["event"] == "open":
            return str(last["me"]).partition(":")[0].partition("@")[0]
        if last.get("code") in LOGGED_OUT:
            shutil.rmtree(login, ignore_errors=True)
        why = last["why"] or why
    raise LoginFailed("The number was not linked.", f"The connection ended before: {why}.", "Try once more.")


async def _last(bridge: Bridge, show: Callable[[str], None]) -> dict[str, Any]:
    """The event with which it is over: the number is linked, or the bridge cannot go on."""
    async with aclosing(bridge.events()) as events:
        async for event in events:
            if event["event"] == "qr":
                show(f"{_SCAN}\n\n{event['text']}")
            elif event["event"] in ("open", "closed", "ended"):
                return event
    return {"event": "ended", "why": ""}
