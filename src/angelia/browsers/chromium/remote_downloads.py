"""Downloads of a browser without a wall: read out over the debugger's own connection, and never kept where it runs.

That browser is told to save nothing. While a step waits for a file, a second session holds the page's responses beside
the one of our rules, further from the network: it takes the body of the file as a stream (`Fetch`, `IO`) and ends the
request once it has it. A stream of the protocol says nothing of how it ended, so whether a file is whole is known from
three things: the length that its server gave; the session of the rules, which hears of a cut connection and knows the
request no more once all of it is through; and the request itself, which is gone if the page has moved on meanwhile.

What a page makes by itself has no request. `data:` stands in what the browser tells; `blob:` is read as the object that
it is (`IO.resolveBlob`), since pages forget its address at once. Addresses that are made while the step goes on are
noted in the page's own world; of others the object is fetched from a world of ours, if the page's policy lets us.
"""

import asyncio
import base64
import binascii
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from angelia.browsers.chromium import downloads
from angelia.browsers.chromium.awaited_file import AwaitedFile, MadeFile, PausedFile
from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.downloads import (
    Downloaded,
    broke_off,
    nothing_came,
    shown_name,
    stalled,
    tidy_name,
    too_large,
    unasked,
)
from angelia.browsers.chromium.elements import js
from angelia.browsers.chromium.frames import thrown_words
from angelia.browsers.chromium.request_rules import RequestRules
from angelia.browsers.chromium.response_heads import length_of, name_of
from angelia.browsers.chromium.tab import Tab
from angelia.browsers.chromium.unnamed_file import UnnamedFile
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.cancellation import cancel_and_wait

_PIECE = 1_000_000
_AT_ONCE = 2
"""Questions for pieces at one time: with one alone the browser waits until it has all of a piece."""
_SURE_S, _NAMED_S = 10.0, 2.0
_OVER = "InterceptionId"
"""In the browser's words for a request that is over."""
_RESPONSES = [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}]
_WORLD = "angelia files"
_NOTE = """function() {
  const at = (this.ownerDocument ?? this).defaultView.URL, make = at.createObjectURL, made = new Map();
  at.createObjectURL = function(one) { const url = make.call(this, one); made.set(url, one); return url };
  return { of: (url) => made.get(url), end: () => { at.createObjectURL = make } };
}"""


class _Coming(Struct):
    """A file on its way to us."""

    name: str
    limit: int
    progress: Callable[[str], None]
    file: UnnamedFile

    def take(self, piece: bytes) -> None:
        """Add to it.

        Raises:
            ActFailed: it is too large, or there is no space for it.
        """
        if self.file.size + len(piece) > self.limit:
            raise too_large(self.name, self.limit)
        before = self.file.size // _PIECE
        try:
            self.file.write(piece)
        except OSError as error:
            raise _no_space(error) from error
        if self.file.size // _PIECE > before:
            self.progress(f"{self.name}: {self.file.size / 1e6:.1f} MB\n")

    def come(self, url: str) -> Downloaded:
        """It is there, whole."""
        return Downloaded(self.name, url, self.file.size, self.file.pieces, self.file.close)


class RemoteDownloads:
    """Of one browser."""

    def __init__(self, cdp: CdpConnection, rules: RequestRules) -> None:
        self._cdp, self._rules = cdp, rules
        self._last: AwaitedFile | None = None

    def hear(self, method: str, params: dict[str, Any]) -> None:
        """What the browser tells of downloads, which it begins and then refuses."""
        if method != "Browser.downloadWillBegin":
            return
        url, name, awaited = str(params["url"]), shown_name(params), self._rules.awaited
        if awaited is not None and not awaited.found.done():
            awaited.tell(MadeFile(str(params["frameId"]), url, name))
        elif self._last is None or not self._last.name_link(url, name):
            self._rules.refusals[str(params["guid"])] = unasked(name)

    async def take(self, tab: Tab, ref: str, *, limit: int, progress: Callable[[str], None]) -> Downloaded:
        """The file that comes of a click at `ref`, whole.

        Raises:
            ActFailed: none came, it stalled, broke off, or is over `limit` bytes; or the rules did not let it pass.
            BrowserGone: the connection to the browser has ended.
        """
        self._last, file = AwaitedFile(), _unnamed()
        awaited = self._last
        try:
            async with self._holding(tab, ref, awaited), self._noting(tab, ref) as noted:
                await tab.click(ref)
                await asyncio.wait({awaited.found}, timeout=downloads.BEGIN_S)
                found = awaited.found.result() if awaited.found.done() else nothing_came()
                coming = _Coming(found.name if isinstance(found, MadeFile) else "", limit, progress, file)
                match found:
                    case PausedFile():
                        await self._read_response(found, awaited, coming)
                    case MadeFile():
                        await self._read_made(tab.frames.of(ref).session, found, noted, coming)
                    case ActFailed():
                        raise found
                return coming.come(found.url)
        except BaseException as ended:
            file.close()
            if isinstance(ended, ProtocolError):
                why = f"The page has moved on meanwhile, and nothing was kept: {ended}."
                raise ActFailed(ActOutcome.NOT_LOADED, why) from ended
            raise

    # -- what comes as a response -----------------------------------------------------------------------------------

    @asynccontextmanager
    async def _holding(self, tab: Tab, ref: str, awaited: AwaitedFile) -> AsyncIterator[None]:
        """Meanwhile the responses of the tab wait for us, too; what waits in the end is not let go on."""
        sessions: list[str] = []
        self._rules.awaited = awaited
        try:
            for target in tab.frames.targets(ref):
                asked = {"targetId": target, "flatten": True}
                sessions.append(str((await self._cdp.call("Target.attachToTarget", asked))["sessionId"]))
                self._cdp.listen(sessions[-1], partial(self._paused, sessions[-1], awaited))
                await self._cdp.call("Fetch.enable", {"patterns": _RESPONSES}, session=sessions[-1])
            yield
        finally:
            self._rules.awaited = None
            found = awaited.found.result() if awaited.found.done() else None
            if isinstance(found, PausedFile):
                self._cdp.tell("Fetch.failRequest", _aborted(found), session=found.session)
            for session in sessions:
                self._cdp.tell("Target.detachFromTarget", {"sessionId": session})
                self._cdp.forget(session, ActFailed(ActOutcome.GONE, "The download is over."))

    def _paused(self, session: str, awaited: AwaitedFile, method: str, params: dict[str, Any]) -> None:
        if method == "Fetch.requestPaused" and not awaited.reads(session, params):
            self._cdp.tell("Fetch.continueResponse", {"requestId": params["requestId"]}, session=session)

    async def _read_response(self, found: PausedFile, awaited: AwaitedFile, coming: _Coming) -> None:
        coming.name = tidy_name(name_of(found.heads, found.url))
        length = length_of(found.heads)
        if length is not None and length > coming.limit:
            raise too_large(coming.name, coming.limit)
        taken = {"requestId": found.request}
        stream = (await self._cdp.call("Fetch.takeResponseBodyAsStream", taken, session=found.session))["stream"]
        await self._read(found.session, str(stream), coming)
        await self._must_be_whole(awaited, coming, length)
        try:
            await self._cdp.call("Fetch.failRequest", _aborted(found), session=found.session)
        except ProtocolError as error:  # the page gave it up while it came
            raise broke_off(coming.name, coming.file.size) from error
        if found.link:
            await asyncio.wait({awaited.named}, timeout=_NAMED_S)
            named = awaited.named.result() if awaited.named.done() else ""
            coming.name = tidy_name(name_of(found.heads, found.url, named))

    async def _must_be_whole(self, awaited: AwaitedFile, coming: _Coming, length: int | None) -> None:
        """Raises:
        ActFailed: it is not, or nobody says that it is.
        """
        name, size = coming.name, coming.file.size
        if length is not None and size != length:
            raise broke_off(name, size, length)
        until = asyncio.get_running_loop().time() + _SURE_S
        while awaited.nearer is not None and not awaited.cut:
            session, request = awaited.nearer
            try:  # ends it if it has failed, and does nothing while it is under way
                await self._cdp.call("Fetch.continueResponse", {"requestId": request}, session=session)
            except ProtocolError as error:
                if _OVER in str(error):
                    break
            if asyncio.get_running_loop().time() > until:
                awaited.nearer = None
            await asyncio.sleep(0.05)
        if awaited.cut:
            raise broke_off(name, size)
        if awaited.nearer is None and length is None:
            why = f"The server of {name} gave no length, and the browser does not say whether the {size} bytes are all"
            raise ActFailed(ActOutcome.NOT_LOADED, f"{why}: nothing was kept. Use fetch for the file's address.")

    # -- what a page makes by itself --------------------------------------------------------------------------------

    @asynccontextmanager
    async def _noting(self, tab: Tab, ref: str) -> AsyncIterator[str]:
        """Meanwhile it is noted which objects the page gives addresses to; where, as an object of the page's world."""
        session = tab.frames.of(ref).session
        asked = {"objectId": await tab.frames.in_page(tab.frames.of(ref), ref), "functionDeclaration": _NOTE}
        noted = str((await self._cdp.call("Runtime.callFunctionOn", asked, session=session))["result"].get("objectId"))
        try:
            yield noted
        finally:
            ends = {"objectId": noted, "functionDeclaration": "function() { this.end() }"}
            self._cdp.tell("Runtime.callFunctionOn", ends, session=session)
            self._cdp.tell("Runtime.releaseObject", {"objectId": noted}, session=session)

    async def _read_made(self, session: str, found: MadeFile, noted: str, coming: _Coming) -> None:
        match found.url.partition(":")[0]:
            case "data":
                coming.take(_data_of(found))
            case "blob":
                blob = await self._noted(session, found, noted) or await self._fetched(session, found)
                uuid = (await self._cdp.call("IO.resolveBlob", {"objectId": blob}, session=session))["uuid"]
                await self._read(session, f"blob:{uuid}", coming)
            case _:
                why = f"{found.name} is of a kind that was not known for a file before the browser began to save it"
                raise ActFailed(ActOutcome.UNFIT, f"{why}, which it may not. Use fetch for {found.url[:300]}.")

    async def _noted(self, session: str, found: MadeFile, noted: str) -> str:
        """The object to which the page gave that address while it was noted; empty if it did before."""
        asks = {"objectId": noted, "functionDeclaration": "function(url) { return this.of(url) }"}
        with suppress(ProtocolError):
            asked = {**asks, "arguments": [{"value": found.url}]}
            answer = await self._cdp.call("Runtime.callFunctionOn", asked, session=session)
            return str(answer["result"].get("objectId", ""))
        return ""

    async def _fetched(self, session: str, found: MadeFile) -> str:
        made = {"frameId": found.frame, "worldName": _WORLD}
        world = (await self._cdp.call("Page.createIsolatedWorld", made, session=session))["executionContextId"]
        asked = {"expression": f"fetch({js(found.url)}).then((one) => one.blob())", "contextId": world}
        answer = await self._cdp.call("Runtime.evaluate", {**asked, "awaitPromise": True}, session=session)
        if thrown := answer.get("exceptionDetails"):
            why = f"{found.name} was made by the page itself, which does not let it be read ({thrown_words(thrown)})"
            raise ActFailed(ActOutcome.NOT_LOADED, f"{why}: nothing was kept. Hand the page over to the user for it.")
        return str(answer["result"]["objectId"])

    # -- streams ----------------------------------------------------------------------------------------------------

    async def _read(self, session: str, stream: str, coming: _Coming) -> None:
        try:
            async with aclosing(self._pieces(session, stream)) as pieces:
                async for piece in pieces:
                    coming.take(piece)
        except TimeoutError:
            raise stalled(coming.name, coming.file.size) from None
        finally:
            self._cdp.tell("IO.close", {"handle": stream}, session=session)

    async def _pieces(self, session: str, stream: str) -> AsyncGenerator[bytes]:
        """Raises:
        TimeoutError: nothing came for too long.
        """
        patience = downloads.STALLED_S
        asks = partial(self._cdp.call, "IO.read", session=session, seconds=_AT_ONCE * 2 * patience)
        asked: deque[asyncio.Task[dict[str, Any]]] = deque()
        try:
            while True:
                while len(asked) < _AT_ONCE:
                    asked.append(asyncio.create_task(asks({"handle": stream, "size": _PIECE})))
                await asyncio.wait({asked[0]}, timeout=patience)
                if not asked[0].done():
                    raise TimeoutError
                told = asked.popleft().result()
                said = str(told["data"])
                yield base64.b64decode(said) if told.get("base64Encoded") else said.encode()
                if told["eof"]:
                    return
        finally:
            await cancel_and_wait(*asked)


def _aborted(found: PausedFile) -> dict[str, Any]:
    return {"requestId": found.request, "errorReason": "Aborted"}


def _unnamed() -> UnnamedFile:
    try:
        return UnnamedFile()
    except OSError as error:
        raise _no_space(error) from error


def _no_space(error: OSError) -> ActFailed:
    return ActFailed(ActOutcome.UNFIT, f"There is no space for a download here: {error.strerror}. Nothing was kept.")


def _data_of(found: MadeFile) -> bytes:
    """What stands in an address (RFC 2397)."""
    head, comma, body = found.url.partition(",")
    content = unquote_to_bytes(body)
    try:
        if comma and head.lower().rstrip().endswith(";base64"):
            return base64.b64decode(content + b"=" * (-len(content) % 4))
    except binascii.Error as error:
        raise ActFailed(ActOutcome.NOT_LOADED, f"{found.name} has no content that can be read: {error}.") from error
    if not comma:
        raise ActFailed(ActOutcome.NOT_LOADED, f"The browser does not say what is in {found.name}: nothing was kept.")
    return content
