"""How the fake WhatsApp brings what happens: signed, one after the other, and again until it is welcome."""

import asyncio
import hashlib
import hmac
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from angelia.testing.changes import Changes
from angelia.testing.channels.webhook_door import WebhookDoor

if TYPE_CHECKING:
    import httpx2

APP_SECRET = "5ecre7ofanappthatdoesnotexist"  # noqa: S105 - no app has it
_AGAIN = 0.02
"""Seconds until a webhook that was not welcome is brought again."""


class Courier:
    """Brings changes to a door. `statuses` are what it was answered, 0 for nothing. `visiting` may be set to False."""

    def __init__(self, door: WebhookDoor) -> None:
        self.statuses: list[int] = []
        self.visiting = True
        self._door = door
        self._queue: deque[dict[str, Any]] = deque()
        self._changes = Changes()

    def put(self, changes: Iterable[dict[str, Any]]) -> None:
        """Bring these, in this order."""
        self._queue.extend(changes)
        self._changes.tell()

    def look(self) -> None:
        """Look again whether to visit."""
        self._changes.tell()

    async def when_brought(self, count: int) -> None:
        """Wait until so many webhooks were welcome."""
        await self._changes.when(lambda: self.statuses.count(200) >= count)

    async def run(self) -> None:
        """Bring everything; what is not welcome comes again, behind those that wait by then."""
        import httpx2

        # no certificates are read, which takes longer than most checks
        async with httpx2.AsyncClient(trust_env=False, verify=False) as http:
            while True:
                await self._changes.when(lambda: bool(self._queue and self.visiting))
                change = self._queue.popleft()
                try:
                    status = await self._visit(http, change)
                except httpx2.RequestError:
                    status = 0
                self.statuses.append(status)
                if status != 200:
                    self._queue.append(change)
                    await asyncio.sleep(_AGAIN)
                self._changes.tell()

    async def _visit(self, http: "httpx2.AsyncClient", change: dict[str, Any]) -> int:
        body = msgspec.json.encode(notification(change))
        sent = await http.post(f"{self._door.url}/hooks/door", content=body, headers=signed(body), timeout=120)
        return sent.status_code


def notification(*changes: dict[str, Any]) -> dict[str, Any]:
    """The body of a webhook request."""
    return {"object": "whatsapp_business_account", "entry": [{"id": "102290129340398", "changes": list(changes)}]}


def signed(body: bytes, secret: str = APP_SECRET) -> dict[str, str]:
    """The headers under which Meta brings it."""
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"content-type": "application/json", "x-hub-signature-256": f"sha256={signature}"}
