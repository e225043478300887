"""Files that a page is given: by a path where the browser sees a folder of ours, else in pieces over the protocol."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from mimetypes import guess_type
from typing import Any

from msgspec import Struct

from angelia.browsers.chromium.frames import Asking
from angelia.browsers.port import ActFailed, ActOutcome

ASKS_S = 5.0
"""Until a click must have had a file asked for."""
_WORLD = "angelia files"
_APPEND = "function(piece) { this.push(Uint8Array.from(atob(piece), (one) => one.charCodeAt(0))) }"
_GIVE = """function(parts, name, type) {
  const given = new DataTransfer();
  given.items.add(new File(parts, name, { type }));
  this.files = given.files;
  for (const kind of ["input", "change"]) this.dispatchEvent(new Event(kind, { bubbles: true }));
}"""
_SIZES = "function() { return [...this.files].map((one) => one.size) }"


class FileAtPath(Struct, frozen=True):
    """One that the browser finds at this path."""

    path: str


class FileInPieces(Struct, frozen=True):
    """One whose bytes come with the call, for a browser that sees nothing of ours."""

    name: str
    content: AsyncIterator[bytes]


class FileChoosers:
    """What asks for files in one tab. The input itself need not be on the page: it is whoever opens the chooser."""

    def __init__(self, call: Asking, news_or: Callable[[float], Awaitable[None]]) -> None:
        """`news_or` waits for whatever the browser tells, or so many seconds."""
        self._call, self._news_or = call, news_or
        self._opened: list[tuple[str, dict[str, Any]]] = []

    def opened(self, session: str, params: dict[str, Any]) -> None:
        """Something asks."""
        self._opened.append((session, params))

    async def give(
        self, ref: str, sessions: set[str], ask: Callable[[], Awaitable[None]], file: FileAtPath | FileInPieces
    ) -> list[int]:
        """Give a file to what asks for one in these sessions after `ask`, a click at `ref`; the sizes that the page has
        then.

        Raises:
            ActFailed: nothing asks for a file.
        """
        self._opened.clear()
        await self._intercept(sessions, enabled=True)
        try:
            await ask()
            until = asyncio.get_running_loop().time() + ASKS_S
            while not self._opened:
                if asyncio.get_running_loop().time() > until:
                    raise ActFailed(ActOutcome.UNFIT, f"{ref} does not ask for a file.")
                await self._news_or(0.15)
            session, asked = self._opened[0]
            match file:
                case FileAtPath(path=path):
                    node = {"backendNodeId": int(asked["backendNodeId"])}
                    await self._call("DOM.setFileInputFiles", {"files": [path], **node}, session=session)
                    return await self._sizes(session, await self._resolved(session, node))
                case FileInPieces():
                    return await self._in_pieces(session, asked, file)
        finally:
            await self._intercept(sessions, enabled=False)

    async def _in_pieces(self, session: str, asked: dict[str, Any], file: FileInPieces) -> list[int]:
        """In a world of our own, where the page's scripts have no hand in what a file is made of."""
        made = {"frameId": asked["frameId"], "worldName": _WORLD}
        world = (await self._call("Page.createIsolatedWorld", made, session=session))["executionContextId"]
        node = {"backendNodeId": int(asked["backendNodeId"]), "executionContextId": world}
        found = await self._resolved(session, node)
        listed = {"expression": "[]", "contextId": world}
        parts = str((await self._call("Runtime.evaluate", listed, session=session))["result"]["objectId"])
        async for piece in file.content:
            value = {"value": base64.b64encode(piece).decode()}
            await self._on(session, parts, _APPEND, [value])
        kind = guess_type(file.name)[0] or ""
        await self._on(session, found, _GIVE, [{"objectId": parts}, {"value": file.name}, {"value": kind}])
        return await self._sizes(session, found)

    async def _resolved(self, session: str, node: dict[str, Any]) -> str:
        return str((await self._call("DOM.resolveNode", node, session=session))["object"]["objectId"])

    async def _sizes(self, session: str, found: str) -> list[int]:
        sizes: list[int] = (await self._on(session, found, _SIZES, []))["result"].get("value")
        return sizes

    async def _on(self, session: str, found: str, function: str, given: list[dict[str, Any]]) -> dict[str, Any]:
        asked = {"functionDeclaration": function, "objectId": found, "arguments": given, "returnByValue": True}
        return await self._call("Runtime.callFunctionOn", asked, session=session)

    async def _intercept(self, sessions: set[str], *, enabled: bool) -> None:
        for session in sessions:
            await self._call("Page.setInterceptFileChooserDialog", {"enabled": enabled}, session=session)
