"""What the page asks about all conversations: receipts, schedules, notes, permissions, decisions, money."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.days import DAY_MS
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import ConversationId, delivery_id
from angelia.core.principal import OWNER, Principal
from angelia.core.text import clean
from angelia.core.unambiguous import unambiguous_line
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.conversations.entry_view import View, part_views
from angelia.faces.words.decisions import decider, decision_words
from angelia.service.audit import LOG
from angelia.service.chats.gateway_state import gateway_of
from angelia.service.notes.explanation import explained, history
from angelia.service.notes.note_changes import drop, keep, note_of
from angelia.service.receipts import DOUBTFUL, let_be, words_in_a_line
from angelia.service.schedule.clockwork import run_facts
from angelia.service.schedule.service import NO_CLOCK
from angelia.service.schedule.wake import clock_runs, wake_clock
from angelia.service.schedule.when import in_short, shown_soon
from angelia.service.settings.secret_refs import shown_server
from angelia.store.log.audit_trail import AuditQuery, Decided, newest_decisions
from angelia.store.tables.notes import StoredNote
from angelia.store.tables.outbox import Receipt
from angelia.store.tables.schedules import Occurrence, StoredSchedule
from angelia.store.tables.spendings import Spendings

if TYPE_CHECKING:
    from angelia.service.app import App

_MOST = 200
_HISTORY = 200
_AGAIN = (*DOUBTFUL, "kept", "let_be")
"""What became of a delivery that may be sent again."""


class RecordRoutes:
    """The handlers."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._spendings = Spendings(app.db)

    def routes(self) -> list[Route]:
        """One row each."""
        read, write = RouteGuard.LOGIN, RouteGuard.WRITE
        return [
            Route("GET", "/api/receipts", read, self._receipts),
            Route("GET", "/api/receipts/{conversation}/{id}", read, self._receipt),
            Route("POST", "/api/receipts/{conversation}/{id}/again", write, self._send_again),
            Route("POST", "/api/receipts/{conversation}/{id}/let_be", write, self._let_be),
            Route("GET", "/api/schedules", read, self._schedules),
            Route("GET", "/api/schedules/{id}", read, self._schedule),
            Route("POST", "/api/schedules/{id}/{act}", write, self._change_schedule),
            Route("GET", "/api/notes", read, self._notes),
            Route("GET", "/api/notes/{number}", read, self._note),
            Route("POST", "/api/notes/{number}/{act}", write, self._change_note),
            Route("GET", "/api/channels", read, self._channels),
            Route("GET", "/api/servers", read, self._servers),
            Route("GET", "/api/grants", read, self._grants),
            Route("POST", "/api/grants/{number}/revoke", write, self._revoke),
            Route("GET", "/api/audit", read, self._audit),
            Route("GET", "/api/usage", read, self._usage),
        ]

    # -- receipts -----------------------------------------------------------------------------------------------------

    async def _receipts(self, request: RouteRequest) -> RouteResponse:
        limit, before = request.number("limit", 50, _MOST), request.number("before", 0, 10**15)
        found = await self._app.outbox.newest(OWNER, limit, before)
        return json_response({"receipts": [receipt_view(one) for one in found]})

    async def _one_receipt(self, request: RouteRequest) -> Receipt:
        conversation = ConversationId(request.found["conversation"])
        found = await self._app.outbox.receipts(OWNER, conversation)
        for one in found:
            if one.id == request.found["id"]:
                return one
        raise NotFound("There is no such delivery.")

    async def _receipt(self, request: RouteRequest) -> RouteResponse:
        one = await self._one_receipt(request)
        tries = [
            {"seq": entry.seq, "at": entry.at, **_try(entry.fact)}
            for entry in await self._app.transcript.entries(one.conversation)
            if getattr(entry.fact, "id", "") == one.id and isinstance(entry.fact, _TOLD)
        ]
        return json_response({**receipt_view(one), "parts": part_views(one.seq, one.parts), "tries": tries})

    async def _send_again(self, request: RouteRequest) -> RouteResponse:
        """Once more, as another delivery with a receipt of its own; what became of the first one stays as it is."""
        one = await self._one_receipt(request)
        if one.status not in _AGAIN:
            raise BadInput(f"This delivery is {one.status}; only one that failed, or may have, is sent again.")
        again = delivery_id(one.conversation, f"{one.id}.again.{self._app.clock()}")
        await self._app.transcript.append(
            one.conversation, [e.DeliveryQueued(again, one.address, one.parts, one.origin, one.reply_to)]
        )
        return json_response({"id": again}, 201)

    async def _let_be(self, request: RouteRequest) -> RouteResponse:
        await let_be(self._app.transcript, await self._one_receipt(request), OWNER)
        return json_response({})

    # -- schedules ----------------------------------------------------------------------------------------------------

    async def _schedules(self, _: RouteRequest) -> RouteResponse:
        found = await self._app.schedules.visible(OWNER)
        return json_response({"schedules": [schedule_view(one, self._next(one)) for one in found]})

    def _next(self, one: StoredSchedule) -> str:
        now = self._app.clock()
        return self._app.schedule_service.next_of(one, lambda at, zone: shown_soon(at, zone, now))

    async def _schedule(self, request: RouteRequest) -> RouteResponse:
        one = await self._app.schedules.of(OWNER, request.found["id"])
        happened = await self._app.schedules.history(one.id, _HISTORY)
        told = schedule_view(one, self._next(one))
        return json_response({**told, "occurrences": [_occurrence(each) for each in happened]})

    async def _change_schedule(self, request: RouteRequest) -> RouteResponse:
        service = self._app.schedule_service
        acts = {"pause": service.pause, "resume": service.resume, "end": service.remove}
        named = request.found["act"]
        act = acts.get(named)
        if act is None and named != "run":
            raise NotFound(f"A schedule cannot be changed so. There is: {', '.join(acts)}, run.")
        one = await self._app.schedules.of(OWNER, request.found["id"])
        said = await (act(one, OWNER) if act else self._run_now(one))
        return json_response({"said": said})

    async def _run_now(self, one: StoredSchedule) -> str:
        """A turn of it begins now, by whoever keeps time; its times stay as they are."""
        if one.state is e.ScheduleState.ENDED:
            raise BadInput("The schedule has ended.", then="Add it again.")
        if not clock_runs(self._app.loaded.home):
            raise BadInput("Nothing was begun.", NO_CLOCK)
        begun = await run_facts(self._app.transcript, one, 0, 0, key=f"{one.id}:by hand:{self._app.clock()}")
        await self._app.transcript.append(begun.conversation, begun.facts)
        wake_clock(self._app.loaded.home)
        return "Begun."

    # -- notes ---------------------------------------------------------------------------------------------------

    async def _notes(self, _: RouteRequest) -> RouteResponse:
        return json_response({"notes": [_note(one) for one in await self._app.notes.list(OWNER)]})

    async def _one_note(self, request: RouteRequest) -> StoredNote:
        number = request.found["number"]
        if not number.isdecimal() or len(number) > 9:
            raise NotFound("There is no such note.")
        return await note_of(self._app.notes, OWNER, int(number))

    async def _note(self, request: RouteRequest) -> RouteResponse:
        app, one = self._app, await self._one_note(request)
        why = await explained(app.transcript, one)
        past = await history(app.transcript, app.notes, OWNER, one)
        return json_response({**_note(one), "why": [clean(line) for line in why], "history": [*map(clean, past)]})

    async def _change_note(self, request: RouteRequest) -> RouteResponse:
        acts: dict[str, Callable[..., Awaitable[str]]] = {"keep": keep, "drop": drop}
        act = acts.get(request.found["act"])
        if act is None:
            raise NotFound("A note can be kept or dropped.")
        one = await self._one_note(request)
        return json_response({"said": await act(self._app.transcript, one, OWNER)})

    # -- the rest -----------------------------------------------------------------------------------------------------

    async def _channels(self, _: RouteRequest) -> RouteResponse:
        home, sections = self._app.loaded.home, self._app.loaded.config.channels
        state = gateway_of(home)
        rows = []
        for door, section in sections.items():
            now = state.channels.get(door) if state else None
            counts = await self._app.outbox.counts(door)
            rows.append(
                {
                    "door": door,
                    "kind": str(section.get("kind", door)),
                    "enabled": bool(section.get("enabled", True)),
                    "state": now.state if now else "",
                    "why": now.why if now else "",
                    "since": now.since if now else 0,
                    "heard": now.heard if now else 0,
                    "waiting": counts.get("queued", 0) + counts.get("sending", 0),
                    "unknown": counts.get("unknown", 0),
                    "failed": counts.get("failed", 0),
                }
            )
        return json_response({"gateway": state.began if state else 0, "channels": rows})

    async def _servers(self, _: RouteRequest) -> RouteResponse:
        servers = msgspec.to_builtins(self._app.loaded.config.mcp.servers)
        rows = [{"name": name, **shown_server(one)} for name, one in servers.items()]
        return json_response({"servers": rows})

    async def _grants(self, _: RouteRequest) -> RouteResponse:
        rows = [
            {
                "id": one.id,
                "principal": str(one.principal),
                "pattern": unambiguous_line(one.pattern),
                "folder": one.workspace,
                "sandbox": one.sandbox,
                "conversation": one.conversation,
                "by": str(one.given_by),
                "at": one.given_at,
                "until": one.until,
            }
            for one in await self._app.grants.list(OWNER)
        ]
        return json_response({"grants": rows})

    async def _revoke(self, request: RouteRequest) -> RouteResponse:
        number = request.found["number"]
        if not number.isdecimal() or len(number) > 9:
            raise NotFound("There is no such permission.")
        await self._app.grants.require(OWNER, int(number))
        await self._app.audit.record(e.AdminAct.GRANT_REVOKED, OWNER, number)
        await self._app.grants.revoke(OWNER, int(number))
        return json_response({})

    async def _audit(self, request: RouteRequest) -> RouteResponse:
        limit, before = request.number("limit", 50, _MOST), request.number("before", 0, 10**15)
        found = await newest_decisions(self._app.db, AuditQuery(), before, limit)
        return json_response({"decided": [_decision(one) for one in found]})

    async def _usage(self, request: RouteRequest) -> RouteResponse:
        days, now = request.number("days", 30, 3_660), self._app.clock()
        since = (now // DAY_MS - max(days, 1) + 1) * DAY_MS
        by_day = await self._spendings.by_day(OWNER, since)
        dearest = await self._spendings.by_conversation(OWNER, since, 20)
        caps = self._app.loaded.config.limits
        return json_response(
            {
                "since": since,
                "days": msgspec.to_builtins(by_day),
                "conversations": [{**msgspec.to_builtins(one), "title": clean(one.title)} for one in dearest],
                "day_cost": round(caps.day_cost * 1e6),
                "day_tokens": caps.day_tokens,
            }
        )


_TOLD = (
    e.DeliveryQueued
    | e.DeliveryStarted
    | e.DeliveryPutOff
    | e.PieceArrived
    | e.PreviewStarted
    | e.PreviewShown
    | e.DeliverySettled
    | e.DeliveryReached
    | e.DeliveryLetBe
)


def _try(fact: object) -> View:
    """What one fact says of a delivery: its kind and its words."""
    told: dict[str, Any] = {"kind": type(fact).__name__}
    for name in ("attempt", "piece", "until", "why", "platform_id", "status", "detail", "reached", "by"):
        if value := getattr(fact, name, ""):
            told[name] = clean(str(value)) if isinstance(value, str | Principal) else value
    return told


def receipt_view(one: Receipt) -> View:
    """A delivery, and what became of it."""
    words = " ".join(part.text for part in one.parts if isinstance(part, Text))
    files = [unambiguous_line(part.name) or str(part.media) for part in one.parts if isinstance(part, Media)]
    return {
        "id": one.id,
        "conversation": one.conversation,
        "place": one.place,
        "seq": one.seq,
        "at": one.at,
        "to": {"door": one.address.door, "chat": one.address.chat, "thread": one.address.thread},
        "origin": one.origin,
        "status": one.status,
        "attempt": one.attempt,
        "detail": clean(one.detail),
        "words": words_in_a_line(clean(words), 200),
        "files": files,
        "size": sum(part.blob.size for part in one.parts if isinstance(part, Media)),
        "again": one.status in _AGAIN,
    }


def schedule_view(one: StoredSchedule, due: str) -> View:
    """What begins by itself; `due` says when next."""
    said = one.scheduled
    return {
        "id": one.id,
        "text": clean(said.text),
        "when": msgspec.to_builtins(said.when),
        "zone": said.zone,
        "said": in_short(said.when, said.zone),
        "next": due,
        "state": one.state,
        "why": clean(one.why),
        "to": {"door": said.address.door, "chat": said.address.chat, "thread": said.address.thread},
        "late": said.late,
        "into": said.into,
        "model": said.model,
        "by": str(said.by),
    }


def _occurrence(one: Occurrence) -> View:
    return {
        "due": one.due,
        "last": one.last,
        "count": one.count,
        "why": clean(one.why),
        "conversation": one.conversation,
        "seq": one.seq,
        "ending": one.ending,
    }


def _decision(one: Decided) -> View:
    return {
        "place": one.place,
        "at": one.at,
        "by": decider(one),
        "did": decision_words(one.fact),
        "question": clean(one.question),
        "kind": type(one.fact).__name__,
        "conversation": "" if one.conversation == LOG else one.conversation,
        "seq": one.seq,
    }


def _note(one: StoredNote) -> View:
    return {
        "number": one.number,
        "text": clean(one.text),
        "scope": one.scope,
        "about": clean(one.about),
        "kind": one.what,
        "state": one.state,
        "at": one.at,
        "conversation": one.conversation,
        "seq": one.seq,
        "outside": one.outside,
        "replaces": one.replaces,
        "replaced_by": one.replaced_by,
        "by": one.settled_by,
    }
