"""The browser of a conversation on the page: pictures of what it shows, and the person's hand on it."""

from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from angelia.browsers.live import MOST_WORDS, LiveInput
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import NOTHING, RouteRequest, RouteResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.conversations.live_views import LiveViews

if TYPE_CHECKING:
    from angelia.browsers.chromium.browser import ChromiumBrowser
    from angelia.service.app import App

_MOST_JSON = 200_000


class LiveHand(Struct, forbid_unknown_fields=True):
    """Whether the page is to be in the person's hand, or the agent's."""

    mine: bool


class LiveInputs(Struct, forbid_unknown_fields=True):
    """What the person did, in order."""

    events: Annotated[list[LiveInput], Meta(max_length=100)]


class LiveTabChosen(Struct, forbid_unknown_fields=True):
    """The tab that is to be shown."""

    name: Annotated[str, Meta(max_length=20)]


class LiveAnswer(Struct, forbid_unknown_fields=True):
    """The answer to what a page asks before it goes on: yes or no, with words where it wants them."""

    accept: bool
    text: Annotated[str, Meta(max_length=MOST_WORDS)] = ""


class LiveRoutes:
    """The handlers; whoever is logged in is the owner."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self.views = LiveViews(self._browser)

    def routes(self) -> list[Route]:
        """One row each."""
        at = "/api/conversations/{id}/browser"
        return [
            Route("POST", at, RouteGuard.WRITE, self._begin),
            Route("GET", f"{at}/{{view}}", RouteGuard.LOGIN, self._frame),
            Route("POST", f"{at}/{{view}}/hand", RouteGuard.WRITE, self._hand),
            Route("POST", f"{at}/{{view}}/inputs", RouteGuard.WRITE, self._inputs),
            Route("POST", f"{at}/{{view}}/tab", RouteGuard.WRITE, self._tab),
            Route("POST", f"{at}/{{view}}/dialog", RouteGuard.WRITE, self._dialog),
            Route("POST", f"{at}/{{view}}/end", RouteGuard.WRITE, self._end),
        ]

    def _browser(self, conversation: ConversationId) -> "ChromiumBrowser | None":
        session = self._app.conversations.sessions.get(conversation)
        return self._app.conversations.toolbox(session).browser if session else None

    async def _begin(self, request: RouteRequest) -> RouteResponse:
        conversation = await self._app.transcript.find(OWNER, request.found["id"][:100])
        return json_response({"id": await self.views.begin(conversation)}, 201)

    async def _frame(self, request: RouteRequest) -> RouteResponse:
        """A picture, or nothing where nothing moved; beside it what stands around it, and whose hand is on it."""
        at = _at(request)
        sight = await self.views.see(*at)
        headers = {"x-mine": "yes" if self.views.taken_over(*at) else "no"}
        if sight is None:
            return RouteResponse(status=204, headers=headers)
        headers["x-state"] = quote(msgspec.json.encode(sight.state))
        if sight.frame is None:
            return RouteResponse(status=204, headers=headers)
        headers["x-view"] = f"{sight.frame.width:.0f}x{sight.frame.height:.0f}"
        return RouteResponse(sight.frame.jpeg, mime="image/jpeg", headers=headers)

    async def _hand(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(LiveHand)
        await self.views.take(*_at(request), over=given.mine)
        return NOTHING

    async def _inputs(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(LiveInputs, _MOST_JSON)
        await self.views.send(*_at(request), given.events)
        return NOTHING

    async def _tab(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(LiveTabChosen)
        self.views.show(*_at(request), given.name)
        return NOTHING

    async def _dialog(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(LiveAnswer, _MOST_JSON)
        await self.views.answer(*_at(request), accept=given.accept, text=given.text)
        return NOTHING

    async def _end(self, request: RouteRequest) -> RouteResponse:
        await self.views.end(*_at(request))
        return NOTHING


def _at(request: RouteRequest) -> tuple[ConversationId, str]:
    return ConversationId(request.found["id"]), request.found["view"]
