"""The browser of a conversation on the page: pictures of what it shows, and the person's hand on it."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from angelia.browsers.live import LiveInput
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.faces.web.guards import RouteGuard
from angelia.faces.web.live_views import LiveViews
from angelia.faces.web.request import NOTHING, RouteRequest, RouteResponse, json_response
from angelia.faces.web.routes import Route

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
            Route("POST", f"{at}/{{view}}/end", RouteGuard.WRITE, self._end),
        ]

    def _browser(self, conversation: ConversationId) -> "ChromiumBrowser | None":
        session = self._app.conversations.sessions.get(conversation)
        return self._app.conversations.toolbox(session).browser if session else None

    async def _begin(self, request: RouteRequest) -> RouteResponse:
        conversation = await self._app.transcript.find(OWNER, request.found["id"][:100])
        return json_response({"id": await self.views.begin(conversation)}, 201)

    async def _frame(self, request: RouteRequest) -> RouteResponse:
        """A picture, or nothing where nothing moved; beside it how large the view is, and whose hand is on it."""
        at = _at(request)
        frame = await self.views.frame(*at)
        mine = "yes" if self.views.taken_over(*at) else "no"
        if frame is None:
            return RouteResponse(status=204, headers={"x-mine": mine})
        size = f"{frame.width:.0f}x{frame.height:.0f}"
        return RouteResponse(frame.jpeg, mime="image/jpeg", headers={"x-mine": mine, "x-view": size})

    async def _hand(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(LiveHand)
        await self.views.take(*_at(request), over=given.mine)
        return NOTHING

    async def _inputs(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(LiveInputs, _MOST_JSON)
        await self.views.send(*_at(request), given.events)
        return NOTHING

    async def _end(self, request: RouteRequest) -> RouteResponse:
        await self.views.end(*_at(request))
        return NOTHING


def _at(request: RouteRequest) -> tuple[ConversationId, str]:
    return ConversationId(request.found["id"]), request.found["view"]
