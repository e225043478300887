"""What each route of `/api` is for, takes and gives: the words of its OpenAPI document and of its page of reference."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from angelia.client import answers as a
from angelia.core.version import PACKAGE_VERSION
from angelia.faces.web.access.login_routes import LoginCode, LoginPassword, NewPasskey, SignedChallenge
from angelia.faces.web.api.conversation_routes import NewConversation, PageAnswer, PageMessage, ShownDeliveries
from angelia.faces.web.api.live_routes import LiveAnswer, LiveHand, LiveInputs, LiveTabChosen
from angelia.faces.web.api.settings_routes import ChangedSetting
from angelia.faces.web.api.skill_routes import SeenSkill
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import JSON, RouteRequest, RouteResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.asgi.server_sent_events import MIME

PATH = "/api/openapi.json"
_BYTES = "application/octet-stream"


class RouteWords(Struct, frozen=True):
    """What a route does. `takes` and `gives` are the forms of what is sent and answered, None for JSON that the page
    alone reads; `mime` is that of the answer, empty for none. `query` are the names that may stand in the query.
    """

    does: str
    takes: type | None = None
    gives: type | None = None
    query: tuple[str, ...] = ()
    mime: str = JSON
    status: int = 200


_ONE = "/api/conversations/{id}"
_VIEW = f"{_ONE}/browser/{{view}}"
WORDS: Mapping[str, RouteWords] = {
    "POST /api/login": RouteWords(
        "Log in with the code of a link, once; sets a cookie.", LoginCode, mime="", status=204
    ),
    "POST /api/login/begin": RouteWords("By what one can log in here; for a passkey, what is to be signed."),
    "POST /api/login/password": RouteWords("Log in with the password.", LoginPassword, mime="", status=204),
    "POST /api/login/passkey": RouteWords("Log in with a passkey.", SignedChallenge, mime="", status=204),
    "POST /api/logout": RouteWords("End this login.", mime="", status=204),
    "GET /api/logins": RouteWords("Who is logged in, who tried, and by what one can."),
    "POST /api/logins/end": RouteWords("End every login, this one too.", mime="", status=204),
    "POST /api/logins/{id}/end": RouteWords("End one.", mime="", status=204),
    "POST /api/passkeys/begin": RouteWords("What a browser is asked to make for a new passkey."),
    "POST /api/passkeys": RouteWords("Keep the passkey that it made.", NewPasskey, status=201),
    "POST /api/passkeys/{id}/remove": RouteWords("Remove a passkey.", mime="", status=204),
    "GET /api/home": RouteWords("The home at a glance.", gives=a.HomeState),
    "GET /api/conversations": RouteWords(
        "Conversations, the newest first; with `q` what a search finds instead (`FoundEntries`).",
        gives=a.ConversationList,
        query=("q", "limit", "before", "folder", "door"),
    ),
    "POST /api/conversations": RouteWords("Begin one.", NewConversation, a.BegunConversation, status=201),
    "GET /api/questions": RouteWords("Questions that wait for a person.", gives=a.ListedQuestions),
    "GET /api/waiting": RouteWords(
        "All that waits for a person: questions, deliveries in doubt, schedules that stopped."
    ),
    "GET /api/events": RouteWords("What changes in the home, as it happens.", mime=MIME),
    f"GET {_ONE}": RouteWords("Where a conversation stands.", gives=a.ConversationState),
    f"GET {_ONE}/entries": RouteWords("What stands in it.", gives=a.EntryList, query=("before", "limit")),
    f"GET {_ONE}/events": RouteWords(
        "Every entry after `Last-Event-ID` (or `after`), from the log, then as it is stored; pieces of what is written "
        "between them.",
        query=("after",),
        mime=MIME,
    ),
    f"GET {_ONE}/names": RouteWords("What a message may name by an @ that is typed so far.", query=("begun",)),
    f"GET {_ONE}/media/{{seq}}/{{part}}": RouteWords(
        "The bytes of a part of an entry; part `full` is a call's whole output.", query=("keep",), mime=_BYTES
    ),
    f"POST {_ONE}/messages": RouteWords(
        "Say something; answered once it is stored. A command (`/help`) answers what it says.",
        PageMessage,
        a.StoredMessage,
        status=202,
    ),
    f"POST {_ONE}/entries/{{seq}}/take-back": RouteWords(
        "Take back a message of yours that waits to be read; no request carries it. 409 where it is read already.",
        gives=a.TakenBackMessage,
    ),
    f"POST {_ONE}/answers": RouteWords("Answer a question.", PageAnswer),
    f"POST {_ONE}/stop": RouteWords("Stop the running turn.", gives=a.StoppedTurn),
    f"POST {_ONE}/resume": RouteWords("Go on with a turn whose process has died.", gives=a.ResumedTurn),
    f"POST {_ONE}/work/{{call}}/stop": RouteWords("Stop what a call left running."),
    f"POST {_ONE}/shown": RouteWords(
        "These deliveries were shown: their receipt.", ShownDeliveries, mime="", status=204
    ),
    f"POST {_ONE}/browser": RouteWords(
        "Watch the page that its browser shows; gives the view's id.", gives=a.BegunConversation, status=201
    ),
    f"GET {_VIEW}": RouteWords(
        "The newest picture, once there is one; 204 where nothing moves. `x-view` is its size, `x-mine` whether it "
        "is in your hand, `x-state` (JSON, percent-encoded, where it may have changed) which tabs there are and what "
        "the page asks.",
        mime="image/jpeg",
    ),
    f"POST {_VIEW}/hand": RouteWords("Take the page over, or give it back.", LiveHand, mime="", status=204),
    f"POST {_VIEW}/inputs": RouteWords("Mouse, wheel, keys and words.", LiveInputs, mime="", status=204),
    f"POST {_VIEW}/tab": RouteWords("Show another tab.", LiveTabChosen, mime="", status=204),
    f"POST {_VIEW}/dialog": RouteWords("Answer what the page asks before it goes on.", LiveAnswer, mime="", status=204),
    f"POST {_VIEW}/end": RouteWords("Watch no longer.", mime="", status=204),
    "POST /api/uploads": RouteWords(
        "Bring a file, as bytes, for a message to name.", bytes, a.StoredUpload, query=("name",), status=201
    ),
    "GET /api/receipts": RouteWords("What went out, and what became of it.", query=("limit", "before")),
    "GET /api/receipts/{conversation}/{id}": RouteWords("One of these, with its story."),
    "POST /api/receipts/{conversation}/{id}/again": RouteWords("Send it once more."),
    "POST /api/receipts/{conversation}/{id}/let_be": RouteWords("Hear no more of one that failed, or may have."),
    "GET /api/schedules": RouteWords("What begins by itself."),
    "GET /api/schedules/{id}": RouteWords("One of these, with its occurrences."),
    "POST /api/schedules/{id}/{act}": RouteWords("`pause`, `resume`, `end` or `run`."),
    "GET /api/notes": RouteWords("What is remembered."),
    "GET /api/notes/{number}": RouteWords("One note, with its source."),
    "POST /api/notes/{number}/{act}": RouteWords("`keep` or `drop`."),
    "GET /api/channels": RouteWords("Networks, and how they are."),
    "GET /api/servers": RouteWords("MCP servers, and how they are."),
    "GET /api/grants": RouteWords("What was allowed for good."),
    "POST /api/grants/{number}/revoke": RouteWords("Take one back."),
    "GET /api/audit": RouteWords("Who decided and changed what, newest first.", query=("limit", "before")),
    "GET /api/usage": RouteWords("Tokens and money by day, model and conversation.", query=("days",)),
    "GET /api/skills": RouteWords("Skills, and which of them were seen."),
    "GET /api/skills/{key}": RouteWords("One skill, with its files or what changed in them."),
    "POST /api/skills/{key}/read": RouteWords("One skill of a server, with its files as the server has them now."),
    "POST /api/skills/{key}/{act}": RouteWords("Say yes or no to the version that was shown.", SeenSkill),
    "GET /api/settings": RouteWords("Settings, with where each comes from."),
    "POST /api/settings": RouteWords("Change one in config.toml; holds from the next start on.", ChangedSetting),
    "GET /api/doctor": RouteWords("Look at every part.", query=("online",), mime=MIME),
    f"GET {PATH}": RouteWords("This document."),
}
"""By method and path."""

_GUARDS = {RouteGuard.LOGIN: [{"login": list[str]()}], RouteGuard.WRITE: [{"login": list[str]()}]}


class DescriptionRoutes:
    """The handler."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [*routes, *self.routes()]

    def routes(self) -> list[Route]:
        """One row."""
        return [Route("GET", PATH, RouteGuard.LOGIN, self._document)]

    async def _document(self, _: RouteRequest) -> RouteResponse:
        return json_response(openapi(self._routes))


def openapi(routes: Iterable[Route]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of those of the routes that are under `/api`."""
    own = [route for route in routes if route.path.startswith("/api/")]
    words = [WORDS[f"{route.method} {route.path}"] for route in own]
    forms = list(dict.fromkeys(form for one in words for form in (one.takes, one.gives) if form and form is not bytes))
    schemas, components = msgspec.json.schema_components(forms, ref_template="#/components/schemas/{name}")
    named = dict(zip(forms, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route, one in zip(own, words, strict=True):
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, one, named)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Angelia", "version": PACKAGE_VERSION, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"login": {"type": "apiKey", "in": "cookie", "name": "angelia-login"}},
        },
    }


_ABOUT = (
    "What the page uses. A login is a cookie; whatever changes something comes with an `Origin` of this address and as "
    "JSON or bytes. An error is `{error: {what, why, then}}`."
)


def _operation(route: Route, words: RouteWords, named: Mapping[type, Any]) -> dict[str, Any]:
    parts = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    text = {"schema": {"type": "string"}}
    given = [
        *({"name": name, "in": "path", "required": True, **text} for name in parts),
        *({"name": name, "in": "query", **text} for name in words.query),
    ]
    answer: dict[str, Any] = {"description": "Done."}
    if words.mime:
        answer["content"] = {words.mime: {"schema": named[words.gives] if words.gives else _loose(words.mime)}}
    told: dict[str, Any] = {
        "summary": words.does,
        "parameters": given,
        "responses": {str(words.status): answer, "default": {"description": "What was wrong, why, and what to do."}},
        "security": _GUARDS.get(route.guard, []),
    }
    if words.takes:
        mime, form = (_BYTES, _loose(_BYTES)) if words.takes is bytes else (JSON, named[words.takes])
        told["requestBody"] = {"required": True, "content": {mime: {"schema": form}}}
    return told


def _loose(mime: str) -> dict[str, Any]:
    return {"type": "object"} if mime == JSON else {"type": "string"}
