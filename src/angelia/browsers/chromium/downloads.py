"""Downloads: none is taken but the one that a step asks for, and that one whole or not at all."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from angelia.browsers.chromium.cdp import CdpConnection
from angelia.browsers.chromium.shared_folders import DOWNLOADS, SharedFolders
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.core.text import clean, one_line

BEGIN_S, STALLED_S = 15.0, 30.0
"""Until a download must have begun, and the longest silence in it."""
_GUID = re.compile(r"[0-9a-fA-F-]{8,64}")


class Downloaded(Struct, frozen=True):
    """A file in the shared folders: `stored` is its name there, `name` what its server calls it."""

    stored: str
    name: str
    url: str
    size: int


class Downloads:
    """Of one browser. `refused` collects sentences about those that nobody asked for."""

    def __init__(self, cdp: CdpConnection, folders: SharedFolders, refused: Callable[[str, str], None]) -> None:
        self._cdp, self._folders = cdp, folders
        self._refused = refused
        self._wanted = False
        self._begun: list[dict[str, Any]] = []
        self._state: dict[str, Any] = {}
        self._news = asyncio.Event()

    async def begin(self) -> None:
        """Refuse all, and be told of each."""
        await self._cdp.call("Browser.setDownloadBehavior", {"behavior": "deny", "eventsEnabled": True})

    async def take(
        self, start: Callable[[], Awaitable[None]], *, limit: int, progress: Callable[[str], None]
    ) -> Downloaded:
        """The file whose download `start` sets going.

        Raises:
            ActFailed: none began, it stalled, broke off, or is over `limit` bytes.
        """
        allowed = {"behavior": "allowAndName", "downloadPath": DOWNLOADS, "eventsEnabled": True}
        await self._cdp.call("Browser.setDownloadBehavior", allowed)
        self._wanted = True
        self._begun.clear()
        self._state.clear()
        try:
            await start()
            return await self._until_done(await self._until_begun(), limit, progress)
        finally:
            self._wanted = False
            if self._begun and self._state.get("state") != "completed":
                await self._cancel(str(self._begun[0]["guid"]))
            await self.begin()

    def hear(self, method: str, params: dict[str, Any]) -> None:
        """What the browser tells of downloads."""
        if method == "Browser.downloadWillBegin":
            if self._wanted and not self._begun and _GUID.fullmatch(str(params["guid"])):
                self._begun.append(params)
            else:
                name = one_line(clean(str(params.get("suggestedFilename", ""))), 80)
                self._refused(str(params["guid"]), f"the download of {name or 'a file'}: ask for it by a download step")
        elif self._begun and params["guid"] == self._begun[0]["guid"]:
            self._state.update(params)
        self._news.set()

    async def _until_begun(self) -> dict[str, Any]:
        try:
            async with asyncio.timeout(BEGIN_S):
                while not self._begun:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            why = f"Nothing was downloaded within {BEGIN_S:g} s. Look at what the page shows instead."
            raise ActFailed(ActOutcome.TIMED_OUT, why) from None
        return self._begun[0]

    async def _until_done(self, begun: dict[str, Any], limit: int, progress: Callable[[str], None]) -> Downloaded:
        name = one_line(clean(str(begun.get("suggestedFilename", ""))), 200)
        while True:
            self._news.clear()
            received = int(self._state.get("receivedBytes", 0))
            if received > limit or int(self._state.get("totalBytes", 0)) > limit:
                raise ActFailed(
                    ActOutcome.UNFIT, f"{name} is over {limit / 1e6:.0f} MB, which is the most that is taken."
                )
            match self._state.get("state"):
                case "completed":
                    stored = str(begun["guid"])
                    return Downloaded(stored, name, str(begun["url"]), self._folders.size(stored))
                case "canceled":
                    raise ActFailed(ActOutcome.NOT_LOADED, f"The download of {name} broke off after {received} bytes.")
                case _:
                    progress(f"{name}: {received / 1e6:.1f} MB\n")
            try:
                async with asyncio.timeout(STALLED_S):
                    await self._news.wait()
            except TimeoutError:
                why = f"The download of {name} stood still for {STALLED_S:g} s after {received} bytes."
                raise ActFailed(ActOutcome.TIMED_OUT, why) from None

    async def _cancel(self, guid: str) -> None:
        await self._cdp.call("Browser.cancelDownload", {"guid": guid})
        self._folders.drop(guid)
