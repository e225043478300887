"""What the page asks about one conversation, and does in it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from angelia.core import entry as e
from angelia.core.content import Content, Media, MediaKind, Text
from angelia.core.errors import AngeliaError, BadInput, NotFound
from angelia.core.ids import CallId, ConversationId, DeliveryId
from angelia.core.principal import OWNER
from angelia.core.text import clean
from angelia.faces.web.asgi.file_response import file_response
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import NOTHING, RouteRequest, RouteResponse, StreamedResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.asgi.server_sent_events import event_stream, last_seen
from angelia.faces.web.conversations.commands import page_command
from angelia.faces.web.conversations.entry_view import PICTURE
from angelia.faces.web.conversations.taken_back import taken_back
from angelia.faces.web.conversations.uploads import Uploads
from angelia.faces.web.conversations.watched_conversation import PageEvent
from angelia.faces.web.conversations.web_conversations import WebConversations
from angelia.faces.words.mentions import MentionableFile, mention_of
from angelia.service.models.choice import at_hand

if TYPE_CHECKING:
    from angelia.service.app import App

_MOST_ENTRIES = 500
_MOST_NAME = 500
_MOST_TEXT = 400_000
"""Characters of one message; what is longer is better a file."""


class NewConversation(Struct, forbid_unknown_fields=True):
    """Where a conversation works: the usual folder and sandbox, if they are empty."""

    folder: str = ""
    sandbox: str = ""


class PageMessage(Struct, forbid_unknown_fields=True):
    """A message; `key` is chosen by who sends it, and a repeat of it changes nothing."""

    key: Annotated[str, Meta(min_length=8, max_length=100)]
    text: Annotated[str, Meta(max_length=_MOST_TEXT)] = ""
    arrival: Literal["steer", "queue"] = "steer"
    files: Annotated[list[str], Meta(max_length=20)] = []


class PageAnswer(Struct, forbid_unknown_fields=True):
    """A yes or a no to a question, or `words` in answer to one; `until` is Unix milliseconds, 0 for good. `at` is what
    the clock says by which that was reckoned: how long until then is what counts. 0 is this machine's clock.
    """

    call: str
    digest: str
    yes: bool = True
    words: Annotated[str, Meta(max_length=20_000)] = ""
    scope: e.Scope = e.Scope.ONCE
    until: int = 0
    at: int = 0

    def until_here(self, now: int) -> int:
        """The same by this machine's clock; a browser's may be wrong by years.

        >>> PageAnswer("c1_0", "d", until=5_000, at=2_000).until_here(70_000)
        73000
        """
        return now + self.until - self.at if self.until and self.at else self.until


class ShownDeliveries(Struct, forbid_unknown_fields=True):
    """Deliveries that stand on the page now."""

    deliveries: Annotated[list[str], Meta(max_length=1_000)]


class ConversationRoutes:
    """The handlers; `angelia docs api` says what each takes and gives."""

    def __init__(self, app: "App", conversations: WebConversations, uploads: Uploads) -> None:
        self._app = app
        self._conversations, self._uploads = conversations, uploads

    def routes(self) -> list[Route]:
        """One row each."""
        at = "/api/conversations/{id}"
        return [
            Route("POST", "/api/conversations", RouteGuard.WRITE, self._begin),
            Route("GET", at, RouteGuard.LOGIN, self._look),
            Route("GET", f"{at}/entries", RouteGuard.LOGIN, self._entries),
            Route("GET", f"{at}/events", RouteGuard.LOGIN, self._events),
            Route("GET", f"{at}/media/{{seq}}/{{part}}", RouteGuard.LOGIN, self._media),
            Route("GET", f"{at}/names", RouteGuard.LOGIN, self._names),
            Route("POST", f"{at}/messages", RouteGuard.WRITE, self._say),
            Route("POST", f"{at}/entries/{{seq}}/take-back", RouteGuard.WRITE, self._take_back),
            Route("POST", f"{at}/answers", RouteGuard.WRITE, self._answer),
            Route("POST", f"{at}/stop", RouteGuard.WRITE, self._stop),
            Route("POST", f"{at}/resume", RouteGuard.WRITE, self._resume),
            Route("POST", f"{at}/work/{{call}}/stop", RouteGuard.WRITE, self._stop_work),
            Route("POST", f"{at}/shown", RouteGuard.WRITE, self._shown),
            Route("POST", "/api/uploads", RouteGuard.WRITE, self._upload),
        ]

    async def _begin(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(NewConversation)
        return json_response({"id": await self._conversations.begin(given.folder, given.sandbox)}, 201)

    async def _look(self, request: RouteRequest) -> RouteResponse:
        own = await self._id(request)
        summary = await self._conversations.summary(own)
        config, catalog = self._app.loaded.config, self._app.model_catalog
        session = self._app.conversations.sessions.get(own)
        async with self._conversations.watched(own) as watched:
            model = ""
            with suppress(AngeliaError):  # none can be had; that is said when something is asked
                model = await self._conversations.model(own)
            return json_response(
                {
                    "id": own,
                    "title": clean(summary.title),
                    "door": summary.door,
                    "folder": summary.workspace,
                    "sandbox": summary.sandbox,
                    "owner": str(summary.owner),
                    "opened_at": summary.opened_at,
                    "last_seq": len(watched.entries),
                    "model": model,
                    "mode": self._app.modes.of(session) if session else config.policy.mode,
                    "models": list(dict.fromkeys([model, *config.fallback, *at_hand(catalog)])) if model else [],
                    "cap": round(config.limits.max_cost * 1e6),
                    "files": list(watched.files),
                    **watched.state(),
                }
            )

    async def _entries(self, request: RouteRequest) -> RouteResponse:
        before, limit = request.number("before", 0, 10**15), request.number("limit", 200, _MOST_ENTRIES)
        async with self._conversations.watched(await self._id(request)) as watched:
            views = watched.views(before, limit)
        first = views[0]["seq"] if views else 1
        return json_response({"entries": views, "first": first if first > 1 else 0})

    async def _names(self, request: RouteRequest) -> RouteResponse:
        own, begun = await self._id(request), request.query.get("begun", "")[:_MOST_NAME]
        found: Sequence[MentionableFile] = ()
        with suppress(AngeliaError):  # nothing is offered; a name can still be typed
            found = await self._conversations.names(own, begun)
        return json_response(
            {"found": [{"path": one.path, "mention": mention_of(one.path), "size": one.size} for one in found]}
        )

    async def _events(self, request: RouteRequest) -> StreamedResponse:
        own, after = await self._id(request), last_seen(request)

        async def events() -> AsyncIterator[PageEvent]:
            async with self._conversations.watched(own) as watched:
                async for event in watched.events(after):
                    yield event

        async with self._conversations.watched(own):  # what is not there is said before anything is streamed
            return event_stream(events())

    async def _say(self, request: RouteRequest) -> RouteResponse:
        own, given = await self._id(request), await request.json(PageMessage)
        arrival, forwarded = e.Arrival(given.arrival), False
        if not given.files and (
            command := await page_command(self._app, self._conversations, own, given.text, given.key)
        ):
            if command.message is None:
                return json_response(command.shown)
            given.text, arrival = command.message.words, command.message.arrival
            forwarded = command.message.forwarded
        parts: list[Content] = [await self._uploads.get(one) for one in given.files]
        if given.text.strip():
            parts.insert(0, Text(given.text))
        new = await self._conversations.say(own, parts, given.key, arrival, forwarded=forwarded)
        return json_response({"stored": True, "new": new}, 202)

    async def _take_back(self, request: RouteRequest) -> RouteResponse:
        session, given = await self._conversations.known(await self._id(request)), request.found["seq"]
        seq = int(given) if given.isdecimal() and len(given) < 10 else 0
        return json_response(await taken_back(session, seq, request.principal))

    async def _answer(self, request: RouteRequest) -> RouteResponse:
        own, given = await self._id(request), await request.json(PageAnswer)
        call, until = CallId(given.call), given.until_here(self._app.clock())
        fact: e.ApprovalGiven | e.ApprovalRefused = (
            e.ApprovalGiven(call, given.digest, OWNER, given.scope, until, clean(given.words))
            if given.yes
            else e.ApprovalRefused(call, OWNER, clean(given.words))
        )
        await self._conversations.answer(own, call, given.digest, fact)
        return json_response({})

    async def _stop(self, request: RouteRequest) -> RouteResponse:
        return json_response({"stopped": await self._conversations.stop(await self._id(request))})

    async def _resume(self, request: RouteRequest) -> RouteResponse:
        return json_response({"resumed": await self._conversations.go_on(await self._id(request))})

    async def _stop_work(self, request: RouteRequest) -> RouteResponse:
        await self._conversations.stop_work(await self._id(request), CallId(request.found["call"]))
        return json_response({})

    async def _shown(self, request: RouteRequest) -> RouteResponse:
        own, given = await self._id(request), await request.json(ShownDeliveries)
        await self._conversations.shown(own, [DeliveryId(one) for one in given.deliveries])
        return NOTHING

    async def _upload(self, request: RouteRequest) -> RouteResponse:
        pieces = request.pieces(self._uploads.limit)
        own, media = await self._uploads.take(pieces, request.query.get("name", ""))
        about = {"name": media.name, "size": media.blob.size, "kind": media.media, "mime": media.blob.mime}
        return json_response({"id": own, **about, "seconds": media.seconds}, 201)

    async def _media(self, request: RouteRequest) -> StreamedResponse:
        seq, part = request.found["seq"], request.found["part"]
        async with self._conversations.watched(await self._id(request)) as watched:
            known = seq.isdecimal() and len(seq) < 10 and 0 < int(seq) <= len(watched.entries)
            found = _media_in(watched.entries[int(seq) - 1].fact, part) if known else None
        if found is None or not await self._app.blobs.has(found.blob):
            raise NotFound("There is no such file in this conversation.")
        return file_response(found, self._app.blobs, keep="keep" in request.query)

    async def _id(self, request: RouteRequest) -> ConversationId:
        """The conversation that the path names, whole or by its end."""
        given = request.found["id"]
        if len(given) > 100:
            raise BadInput("This is no id of a conversation.")
        with suppress(NotFound):
            return await self._app.transcript.find(OWNER, given)
        await self._conversations.summary(ConversationId(given))
        return ConversationId(given)


def _media_in(fact: e.AnyFact, part: str) -> Media | None:
    """Part number `part` of what a fact holds, the `full` output of a call, or the picture of a question."""
    if part == "full" and isinstance(fact, e.ToolFinished | e.WorkEnded) and fact.full:
        return Media(fact.full, MediaKind.DOCUMENT, f"{fact.call}.txt")
    if part == PICTURE and isinstance(fact, e.ApprovalAsked):
        return fact.picture
    parts: tuple[Content, ...] = getattr(fact, "parts", ())
    if not part.isdecimal() or len(part) > 5 or int(part) >= len(parts):
        return None
    one = parts[int(part)]
    return one if isinstance(one, Media) else None
