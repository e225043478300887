"""What the page asks about the whole home: conversations, what changes, what was spent."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from angelia.core.days import day_of
from angelia.core.errors import AngeliaError, BadInput
from angelia.core.principal import OWNER
from angelia.core.text import clean
from angelia.core.version import PACKAGE_VERSION
from angelia.faces.web.api.home_events import HomeEvents
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse, StreamedResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.asgi.server_sent_events import event_stream
from angelia.faces.web.conversations.watched_conversation import spent_view
from angelia.service.models.choice import likely
from angelia.store.log.search import search
from angelia.store.log.transcript import Mark, Summary

if TYPE_CHECKING:
    from angelia.service.app import App

_MOST = 200


class HomeRoutes:
    """The handlers."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self.events = HomeEvents(app.transcript)

    def routes(self) -> list[Route]:
        """One row each."""
        return [
            Route("GET", "/api/home", RouteGuard.LOGIN, self._home),
            Route("GET", "/api/conversations", RouteGuard.LOGIN, self._conversations),
            Route("GET", "/api/events", RouteGuard.LOGIN, self._events),
        ]

    async def _home(self, _: RouteRequest) -> RouteResponse:
        app, config = self._app, self._app.loaded.config
        model = ""
        with suppress(AngeliaError):
            model = await likely(config.model, app.model_catalog, app.key_value)
        today = await app.transcript.spent(OWNER, day_of(app.clock()))
        return json_response(
            {
                "version": PACKAGE_VERSION,
                "model": model,
                "mode": config.policy.mode,
                "zone": config.schedule.zone,
                "doors": ["web", "terminal", "acp", *config.channels],
                "presets": list(config.sandbox.presets),
                "sandbox": config.sandbox.spec,
                "spent_today": spent_view(today.cost, today.tokens, today.unpriced),
                "day_cost": round(config.limits.day_cost * 1e6),
                "max_bytes": config.files.max_bytes,
            }
        )

    async def _conversations(self, request: RouteRequest) -> RouteResponse:
        if words := request.query.get("q", "").strip():
            return await self._search(words, request)
        limit = request.number("limit", 50, _MOST)
        transcript, query = self._app.transcript, request.query
        found = await transcript.conversations(
            OWNER,
            limit + 1,
            workspace=query.get("folder") or None,
            door=query.get("door") or None,
            before=_mark(query.get("before", "")),
        )
        waits = await self._app.questions.counts(OWNER)
        at_work = await transcript.at_work([one.id for one in found])
        page = [
            {**summary_view(one), "open": one.id in at_work, "waits": waits.get(one.id, 0)} for one in found[:limit]
        ]
        more = f"{found[limit - 1].last_at}.{found[limit - 1].id}" if len(found) > limit else ""
        return json_response({"conversations": page, "more": more})

    async def _search(self, words: str, request: RouteRequest) -> RouteResponse:
        """Of one door or folder, those among the first `_MOST` of all."""
        limit, door, folder = (request.number("limit", 50, _MOST), *map(request.query.get, ("door", "folder")))
        found = await search(self._app.db, OWNER, words, _MOST if door or folder else limit)
        summaries: dict[str, Summary] = {}
        for hit in found.hits:
            if hit.conversation not in summaries:
                summaries[hit.conversation] = await self._app.transcript.summary(OWNER, hit.conversation)
        rows = [
            {
                "conversation": hit.conversation,
                "title": clean(summaries[hit.conversation].title),
                "door": summaries[hit.conversation].door,
                "seq": hit.seq,
                "at": hit.at,
                "line": clean(hit.snippet),
            }
            for hit in found.hits
            if _is_of(summaries[hit.conversation], door, folder)
        ][:limit]
        return json_response({"found": rows, "damaged": list(found.damaged)})

    async def _events(self, _: RouteRequest) -> StreamedResponse:
        return event_stream(self.events.events())


def _is_of(one: Summary, door: str | None, folder: str | None) -> bool:
    return one.door == (door or one.door) and one.workspace == (folder or one.workspace)


def summary_view(one: Summary) -> dict[str, Any]:
    """A conversation as a row of a list."""
    return {
        "id": one.id,
        "title": clean(one.title),
        "opened_at": one.opened_at,
        "last_at": one.last_at,
        "last_seq": one.last_seq,
        "door": one.door,
        "folder": clean(one.workspace),
        "sandbox": one.sandbox,
        "owner": str(one.owner),
    }


def _mark(given: str) -> Mark | None:
    if not given:
        return None
    at, _, own = given.partition(".")
    if not at.isdecimal() or not own:
        raise BadInput(f"`before` is {given[:60]!r}, which is no place in the list.")
    return Mark(int(at), own)
