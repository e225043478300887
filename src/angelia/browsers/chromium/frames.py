"""The documents of one tab: its page, and frames of other origins, with our script in a world of its own in each.

A frame of the page's own origin is read through the page. One of another origin is closed to the page's scripts and to
ours: whether it shares the page's process or has its own (then the browser gives it a session), our script runs in it
by itself, and what it says is put where the frame stands. References begin with their frame (`f2e7`), and neither a
frame's number nor a reference is given out twice in the life of a tab.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from angelia.browsers.chromium.cdp import ProtocolError
from angelia.browsers.chromium.given_secrets import GivenSecrets
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.core.text import clean, one_line

T = TypeVar("T")

_WORLD = "angelia"
_POINTED = frozenset({"click", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart", "dblclick"})
_MOST_LISTENERS = 3000
"""Elements that are asked after at one look; the others come with the next."""
SCRIPT_S = 15.0
"""Until a script must have returned."""
_REF = r"(f\d+)?e\d+"


class Asking(Protocol):
    """How a document is spoken to: one call in its session, and what ends if the page asks something meanwhile."""

    async def __call__(
        self, method: str, params: dict[str, Any] | None = None, *, session: str, seconds: float = 0.0
    ) -> dict[str, Any]:
        """What the browser answers within `seconds`, 0 for as many as any answer may take."""


Unless = Callable[[Awaitable[Any]], Awaitable[Any]]


class Frame:
    """One document. `held_by` is the reference of its element in `parent`; the page itself has neither."""

    def __init__(
        self, identity: str, session: str, prefix: str, parent: "Frame | None" = None, held_by: str = ""
    ) -> None:
        self.identity, self.session = identity, session
        self.prefix = prefix
        self.parent, self.held_by = parent, held_by
        self.world: int | None = None
        self.asked: set[int] = set()
        self.last = 0
        self.origin = ""
        self.hidden: list[str] = []

    def moved(self) -> None:
        """It shows another document now, or lives in another process."""
        self.world = None


class Frames:
    """Those of a tab. `call` speaks to a session, `unless_asked` gives up waiting when the page asks something."""

    def __init__(self, identity: str, session: str, call: Asking, unless_asked: Unless, given: GivenSecrets) -> None:
        self._given = given
        self._target = identity
        self.page = Frame(identity, session, "")
        self._call, self._unless_asked = call, unless_asked
        self._numbers = 0
        self._frames: dict[str, Frame] = {}
        self._sessions: dict[str, str] = {}
        self._urls: dict[str, str] = {}

    # -- what the browser tells -------------------------------------------------------------------------------------

    def attached(self, identity: str, session: str) -> None:
        """A frame lives in a process of its own, which `session` speaks to."""
        self._sessions[identity] = session
        if frame := self._frames.get(identity):
            frame.session = session
            frame.moved()

    def detached(self, session: str) -> None:
        """That process is no longer the frame's."""
        for identity in [one for one, of in self._sessions.items() if of == session]:
            del self._sessions[identity]
            if frame := self._frames.get(identity):
                frame.session = frame.parent.session if frame.parent else frame.session
                frame.moved()

    def navigated(self, identity: str, url: str) -> None:
        """A frame shows another document."""
        self._urls[identity] = url
        if frame := self._frames.get(identity):
            frame.moved()

    def page_moved(self, identity: str) -> None:
        """The page is another one: its frames are gone, and their numbers with them."""
        self.page.identity = identity
        self.page.moved()
        self._frames.clear()

    # -- whose words are whose --------------------------------------------------------------------------------------

    def of(self, ref: str) -> Frame:
        """The document to which a reference belongs.

        Raises:
            ActFailed: it is none, or its frame is gone.
        """
        prefix = ref.partition("e")[0]
        if ref and not re.fullmatch(_REF, ref):
            raise ActFailed(ActOutcome.GONE, f"{one_line(clean(ref), 60)!r} is no reference: look for one such as e7.")
        if not prefix:
            return self.page
        for frame in self._frames.values():
            if frame.prefix == prefix:
                return frame
        raise gone(ref)

    def known(self) -> list[Frame]:
        """The page, and the frames that were looked into."""
        return [self.page, *self._frames.values()]

    def origin_of(self, ref: str) -> str:
        """Of what stands at `ref` in a frame of another origin; empty for the page's own.

        Raises:
            ActFailed: its frame is gone.
        """
        return self.origin(self.of(ref))

    def origin(self, frame: Frame) -> str:
        """Of a document: its own, or that of who wrote it into the page; empty for the page."""
        at: Frame | None = frame
        while at is not None and at.parent is not None:
            if named := origin(self._urls.get(at.identity, "")):
                return named
            at = at.parent
        return ""

    def targets(self, ref: str) -> list[str]:
        """The page, and the frame that has a process of its own in which `ref` belongs: by what each is attached to.

        Raises:
            ActFailed: its frame is gone.
        """
        session = self.of(ref).session
        return [self._target, *(one for one, of in self._sessions.items() if of == session)]

    async def held_by(self, frame: Frame, ref: str) -> Frame | None:
        """The document in the frame element `ref` of another one; None if it has none."""
        found = None
        with suppress(ProtocolError):
            element = await self._unless_asked(
                self._call(
                    "Runtime.evaluate",
                    {"expression": f"angeliaPage.element('{ref}')", "contextId": await self._in(frame)},
                    session=frame.session,
                )
            )
            asked = {"objectId": element["result"].get("objectId", "")}
            node = await self._unless_asked(self._call("DOM.describeNode", asked, session=frame.session))
            found = node["node"].get("frameId")
        if not found:
            return None
        if found not in self._frames:
            self._numbers += 1
            session = self._sessions.get(found, frame.session)
            self._frames[found] = Frame(found, session, f"f{self._numbers}", frame, ref)
        self._frames[found].held_by = ref
        return self._frames[found]

    # -- where the keys go ------------------------------------------------------------------------------------------

    async def keys_go_to(self, ref: str) -> str:
        """The session by which keys come to the document to which `ref` belongs, and to no other one.

        Those for a frame that lives in a process of its own are sent to that process: where the page takes the focus
        between this and the key, the key comes to nobody.

        Raises:
            ActFailed: a frame of another origin has the focus, or what is around this one does.
        """
        frame = self.of(ref)
        if inner := await self._focused(frame):
            there = origin(self._urls.get(inner, "")) or "nobody"
            why = f"The focus is in a frame of {there}, which would get what is typed; nothing was."
            raise ActFailed(ActOutcome.REFUSED, f"{why} Name the element as `ref`: those of frames are such as f1e2.")
        session = frame.session
        while frame.parent is not None:
            await self._has_focus(frame, frame.parent, ref)
            frame = frame.parent
        return session

    async def _has_focus(self, frame: Frame, parent: Frame, ref: str) -> None:
        for _ in range(10):  # the process of the parent hears of it a moment later
            if await self._focused(parent) == frame.identity:
                return
            await asyncio.sleep(0.02)
        raise ActFailed(ActOutcome.REFUSED, f"The page has taken the focus away from {ref}; nothing was typed.")

    async def _focused(self, frame: Frame) -> str:
        """The frame in a document that has its focus and cannot be read from there; empty if there is none."""
        asked = {"expression": "angeliaPage.focused()", "objectGroup": _WORLD}
        try:
            before = 0
            while True:  # shadows in shadows
                at = {**asked, "contextId": await self._in(frame)}
                found = (await self._asked_in(frame, "Runtime.evaluate", at))["result"].get("objectId")
                if not found:
                    return ""
                node = (await self._asked_in(frame, "DOM.describeNode", {"objectId": found}))["node"]
                root = "" if node["backendNodeId"] == before else await self._closed_root(frame, found)
                if not root:
                    return str(node.get("frameId", ""))
                before = int(node["backendNodeId"])
                await self._tell(frame, "uncover", [found, root])
        except ProtocolError as error:
            frame.moved()
            raise ActFailed(ActOutcome.NOT_LOADED, "The page has moved on meanwhile. Look again.") from error

    # -- scripts of the model's ---------------------------------------------------------------------------------------

    async def run(self, ref: str, code: str) -> Any:
        """What `code` returns in the page's own world, in the document to which `ref` belongs.

        Raises:
            ActFailed: it throws, returns what has no JSON, or does not end; or the page moves on meanwhile, or asks.
        """
        frame = self.of(ref)
        script = f"async function(element) {{ return (\n{code}\n) }}"
        try:
            compiled = {"expression": f"({script})", "sourceURL": "", "persistScript": False}
            if (await self._asked_in(frame, "Runtime.compileScript", compiled)).get("exceptionDetails"):
                script = f"async function(element) {{ {code}\n }}"
            given = [{"objectId": await self.in_page(frame, ref)}]
            waits: dict[str, Any] = {"awaitPromise": True, "returnByValue": True}
            asked = {"functionDeclaration": script, "arguments": given, **given[0], **waits}
            running = self._call("Runtime.callFunctionOn", asked, session=frame.session, seconds=SCRIPT_S)
            answer = await self._unless_asked(running)
        except ProtocolError as error:
            raise ActFailed(ActOutcome.NOT_LOADED, f"What the script came to is not known: {error}.") from error
        except ActFailed as failed:
            if failed.outcome is ActOutcome.TIMED_OUT:  # it would hold up whatever is asked of the page next
                await self._call("Runtime.terminateExecution", session=frame.session)
            raise
        if thrown := answer.get("exceptionDetails"):
            raise ActFailed(ActOutcome.UNFIT, f"The script failed: {thrown_words(thrown)}")
        return answer["result"].get("value", answer["result"].get("unserializableValue"))

    async def in_page(self, frame: Frame, ref: str) -> str:
        """An element, or the document without `ref`, as the page's own scripts have it.

        Raises:
            ActFailed: it is not there any more.
            ProtocolError: the page moves on meanwhile.
        """
        asked = {
            "expression": f"angeliaPage.element('{ref}')" if ref else "document",
            "contextId": await self._in(frame),
            "objectGroup": _WORLD,
        }
        ours = (await self._asked_in(frame, "Runtime.evaluate", asked))["result"].get("objectId")
        if ours is None:
            raise gone(ref)
        node = (await self._asked_in(frame, "DOM.describeNode", {"objectId": ours}))["node"]["backendNodeId"]
        theirs = await self._asked_in(frame, "DOM.resolveNode", {"backendNodeId": node})
        return str(theirs["object"]["objectId"])

    # -- our script -------------------------------------------------------------------------------------------------

    async def evaluate(self, frame: Frame, expression: str) -> Any:
        """What an expression comes to beside our script, once it has; the value of a promise is waited for.

        Raises:
            ActFailed: the document cannot be read, or asks something.
        """
        for attempt in (1, 2):
            try:
                asked = {"expression": expression, "contextId": await self._in(frame), "awaitPromise": True}
                asked["returnByValue"] = True
                answer = await self._unless_asked(self._call("Runtime.evaluate", asked, session=frame.session))
            except ProtocolError as error:
                frame.moved()  # the page has moved on meanwhile, and our script with it
                if attempt == 2:
                    raise ActFailed(ActOutcome.NOT_LOADED, f"The page cannot be read now: {error}.") from error
                continue
            if thrown := answer.get("exceptionDetails"):
                raise ActFailed(ActOutcome.NOT_LOADED, f"The page cannot be read: {thrown_words(thrown)}.")
            return answer["result"].get("value")
        raise AssertionError("the second attempt returns or raises")

    async def ask_once(self, frame: Frame, what: str, *arguments: str) -> dict[str, Any]:
        """What a function of our script answers in the document that is there now, and in none that comes meanwhile.

        Raises:
            ActFailed: the document is gone, or asks something.
        """
        try:
            answer = await self._asked_in(
                frame, "Runtime.callFunctionOn", _calling(await self._in(frame), what, *arguments)
            )
        except ProtocolError as error:
            frame.moved()
            raise ActFailed(ActOutcome.NOT_LOADED, "The page has moved on meanwhile. Look again.") from error
        if thrown := answer.get("exceptionDetails"):
            raise ActFailed(ActOutcome.NOT_LOADED, f"The page cannot be read: {thrown_words(thrown)}.")
        told: dict[str, Any] = answer["result"].get("value")
        return told

    async def mark_listeners(self, frame: Frame) -> None:
        """Tell our script which elements listen to the pointer, though no tag or role says so; each once."""
        with suppress(ProtocolError):  # the page moves on: whoever looks meets it, and looks again
            world = await self._in(frame)
            # Of the document as the page has it: asked of ours, Chromium 156 dies at some later collection of garbage.
            # And in no group of objects: else each listener's function comes with it, which takes three times as long.
            theirs = {"objectId": await self.in_page(frame, "")}
            asked = {**theirs, "depth": -1, "pierce": True}
            heard = (await self._asked_in(frame, "DOMDebugger.getEventListeners", asked))["listeners"]
            await self._asked_in(frame, "Runtime.releaseObject", theirs)
            fresh = {one["backendNodeId"] for one in heard if one["type"] in _POINTED and "backendNodeId" in one}
            nodes = sorted(fresh - frame.asked)[:_MOST_LISTENERS]
            found = await self._unless_asked(asyncio.gather(*(self._resolved(frame, node, world) for node in nodes)))
            await self._tell(frame, "mark", [one for one in found if one])
            frame.asked |= set(nodes)

    async def open_shadows(self, frame: Frame) -> bool:
        """Hand our script the closed shadow roots of those elements that may have one; whether there are any."""
        with suppress(ProtocolError):
            asked = {"expression": "angeliaPage.suspects()", "contextId": await self._in(frame), "objectGroup": _WORLD}
            listed = (await self._asked_in(frame, "Runtime.evaluate", asked))["result"]["objectId"]
            asked = {"objectId": listed, "ownProperties": True}
            found = (await self._asked_in(frame, "Runtime.getProperties", asked))["result"]
            hosts = [one["value"]["objectId"] for one in found if one["name"].isdigit()]
            roots = await self._unless_asked(asyncio.gather(*(self._closed_root(frame, host) for host in hosts)))
            pairs = [one for host, root in zip(hosts, roots, strict=True) if root for one in (host, root)]
            await self._tell(frame, "uncover", pairs)
            return bool(pairs)
        return False

    async def _closed_root(self, frame: Frame, host: str) -> str:
        try:
            node = await self._call("DOM.describeNode", {"objectId": host, "pierce": True}, session=frame.session)
        except ProtocolError:
            return ""
        for root in node["node"].get("shadowRoots", ()):
            if root.get("shadowRootType") == "closed" and frame.world is not None:
                return await self._resolved(frame, int(root["backendNodeId"]), frame.world)
        return ""

    async def _tell(self, frame: Frame, what: str, objects: list[str]) -> None:
        if objects:
            telling = {
                "functionDeclaration": f"function(...all) {{ angeliaPage.{what}(...all) }}",
                "executionContextId": await self._in(frame),
                "arguments": [{"objectId": one} for one in objects],
            }
            await self._asked_in(frame, "Runtime.callFunctionOn", telling)
        await self._call("Runtime.releaseObjectGroup", {"objectGroup": _WORLD}, session=frame.session)

    async def _asked_in(self, frame: Frame, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = await self._unless_asked(self._call(method, params, session=frame.session))
        return answer

    async def _resolved(self, frame: Frame, node: int, world: int) -> str:
        """A node in the world of our script; empty if it went meanwhile, or belongs to another document."""
        asked = {"backendNodeId": node, "executionContextId": world, "objectGroup": _WORLD}
        try:
            answer = await self._call("DOM.resolveNode", asked, session=frame.session)
        except ProtocolError:
            return ""
        return str(answer["object"].get("objectId", ""))

    async def _in(self, frame: Frame) -> int:
        """The world in which our script is, put there once for each document."""
        if frame.world is None:
            asked = {"frameId": frame.identity, "worldName": _WORLD}
            world = int((await self._asked_in(frame, "Page.createIsolatedWorld", asked))["executionContextId"])
            script = {
                "expression": f"({_script()})({frame.last + 1}, '{frame.prefix}')",
                "contextId": world,
                "returnByValue": True,
            }
            within = (await self._asked_in(frame, "Runtime.evaluate", script))["result"].get("value")
            frame.world, frame.asked = world, set()
            frame.origin, frame.hidden = str(within), []
        if (values := self._given.of(frame.origin)) != frame.hidden:
            await self._asked_in(frame, "Runtime.callFunctionOn", _calling(frame.world, "hide", *values))
            frame.hidden = values
        return frame.world


def _calling(world: int, what: str, *arguments: str) -> dict[str, Any]:
    """A call to our script, with texts that stand in no expression."""
    return {
        "functionDeclaration": f"function(...all) {{ return angeliaPage.{what}(...all) }}",
        "executionContextId": world,
        "arguments": [{"value": one} for one in arguments],
        "returnByValue": True,
    }


def gone(ref: str) -> ActFailed:
    """What was at that reference is no longer there."""
    why = f"{ref} is not on the page any more (or never was): look again for what is there now."
    return ActFailed(ActOutcome.GONE, why)


def thrown_words(thrown: dict[str, Any]) -> str:
    """What a script said when it failed."""
    said = thrown.get("exception", {}).get("description") or thrown.get("text", "")
    return one_line(clean(str(said)), 300)


@cache
def _script() -> str:
    return files("angelia.browsers.chromium").joinpath("page.js").read_text()
