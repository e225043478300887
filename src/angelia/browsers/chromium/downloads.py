"""Downloads: none is taken but the one that a step asks for, and that one whole or not at all."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from msgspec import Struct

from angelia.browsers.chromium.cdp import CdpConnection
from angelia.browsers.chromium.shared_folders import DOWNLOADS, SharedFolders
from angelia.browsers.chromium.tab import Tab
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.core.text import clean, one_line

BEGIN_S, STALLED_S = 15.0, 30.0
"""Until a download must have begun, and the longest silence in it."""
_GUID = re.compile(r"[0-9a-fA-F-]{8,64}")


class Downloaded(Struct, frozen=True):
    """A file that has come whole, by the name that its server gives it. `content` reads it, once or again, until `drop`
    takes it away.
    """

    name: str
    url: str
    size: int
    content: Callable[[], AsyncIterator[bytes]]
    drop: Callable[[], None]


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

    async def take(self, tab: Tab, ref: str, *, limit: int, progress: Callable[[str], None]) -> Downloaded:
        """The file that comes of a click at `ref`.

        Raises:
            ActFailed: none began, it stalled, broke off, or is over `limit` bytes.
        """
        allowed = {"behavior": "allowAndName", "downloadPath": DOWNLOADS, "eventsEnabled": True}
        await self._cdp.call("Browser.setDownloadBehavior", allowed)
        self._wanted = True
        self._begun.clear()
        self._state.clear()
        try:
            await tab.click(ref)
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
                self._refused(str(params["guid"]), unasked(shown_name(params)))
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
            raise nothing_came() from None
        return self._begun[0]

    async def _until_done(self, begun: dict[str, Any], limit: int, progress: Callable[[str], None]) -> Downloaded:
        name = shown_name(begun)
        while True:
            self._news.clear()
            received = int(self._state.get("receivedBytes", 0))
            if received > limit or int(self._state.get("totalBytes", 0)) > limit:
                raise too_large(name, limit)
            match self._state.get("state"):
                case "completed":
                    stored, folders = str(begun["guid"]), self._folders
                    content, drop = partial(folders.get, stored), partial(folders.drop, stored)
                    return Downloaded(name, str(begun["url"]), folders.size(stored), content, drop)
                case "canceled":
                    raise broke_off(name, received)
                case _:
                    progress(f"{name}: {received / 1e6:.1f} MB\n")
            try:
                async with asyncio.timeout(STALLED_S):
                    await self._news.wait()
            except TimeoutError:
                raise stalled(name, received) from None

    async def _cancel(self, guid: str) -> None:
        await self._cdp.call("Browser.cancelDownload", {"guid": guid})
        self._folders.drop(guid)


def shown_name(params: dict[str, Any]) -> str:
    """What the browser would call a download that begins."""
    return tidy_name(str(params.get("suggestedFilename", "")))


def tidy_name(name: str) -> str:
    """A name that somebody else has given, in one line."""
    return one_line(clean(name), 200)


def unasked(name: str) -> str:
    """That nobody has asked for it."""
    return f"the download of {name[:80] or 'a file'}: ask for it by a download step"


def nothing_came() -> ActFailed:
    """That no download has begun."""
    why = f"Nothing was downloaded within {BEGIN_S:g} s. Look at what the page shows instead."
    return ActFailed(ActOutcome.TIMED_OUT, why)


def too_large(name: str, limit: int) -> ActFailed:
    """That no more than `limit` bytes are taken."""
    return ActFailed(ActOutcome.UNFIT, f"{name} is over {limit / 1e6:.0f} MB, which is the most that is taken.")


def broke_off(name: str, received: int, of: int | None = None) -> ActFailed:
    """That its end is missing; `of` so many bytes, where the server has said so."""
    whole = "" if of is None else f" of {of}"
    return ActFailed(ActOutcome.NOT_LOADED, f"The download of {name} broke off after {received}{whole} bytes.")


def stalled(name: str, received: int) -> ActFailed:
    """That nothing more has come for too long."""
    why = f"The download of {name} stood still for {STALLED_S:g} s after {received} bytes."
    return ActFailed(ActOutcome.TIMED_OUT, why)
