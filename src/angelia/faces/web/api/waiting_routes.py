"""What waits for the person, in all conversations: questions, deliveries in doubt, schedules that stopped."""

from typing import TYPE_CHECKING

from angelia.core import entry as e
from angelia.core.principal import OWNER
from angelia.core.text import clean
from angelia.faces.web.api.record_routes import receipt_view, schedule_view
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.conversations.entry_view import View, question_view, unreadable_view, where_view
from angelia.service.receipts import DOUBTFUL
from angelia.service.schedule.ahead import waits
from angelia.store.log.examined import UnreadableEntry
from angelia.store.tables.questions import WaitingQuestion
from angelia.store.tables.schedules import StoredSchedule

if TYPE_CHECKING:
    from angelia.service.app import App

_NEWEST = 50
"""Deliveries among which is looked for those in doubt."""


class WaitingRoutes:
    """The handlers."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def routes(self) -> list[Route]:
        """One row each."""
        return [
            Route("GET", "/api/questions", RouteGuard.LOGIN, self._asked),
            Route("GET", "/api/waiting", RouteGuard.LOGIN, self._waiting),
        ]

    async def _asked(self, _: RouteRequest) -> RouteResponse:
        return json_response({"questions": await self._questions()})

    async def _waiting(self, _: RouteRequest) -> RouteResponse:
        sent = await self._app.outbox.newest(OWNER, _NEWEST)
        return json_response(
            {
                "questions": await self._questions(),
                "deliveries": [receipt_view(one) for one in sent if one.status in DOUBTFUL],
                "schedules": await self.schedules(),
            }
        )

    async def schedules(self) -> list[View]:
        """Those that have stopped, or wait for the time of a clock that was ahead."""
        planned = await self._app.schedules.visible(OWNER)
        stopped = [schedule_view(one, "") for one in planned if one.why and one.state is not e.ScheduleState.ACTIVE]
        return stopped + [self._ahead(one) for one in planned if waits(one, self._app.clock())]

    def _ahead(self, one: StoredSchedule) -> View:
        """A schedule that goes on, though not before the time of a clock that was ahead."""
        return {
            **schedule_view(one, ""),
            "state": "waiting",
            "why": f"Next: {self._app.schedule_service.next_of(one)}.",
        }

    async def _questions(self) -> list[View]:
        waiting = await self._app.questions.all(OWNER)
        at = {one.conversation: await self._app.transcript.summary(OWNER, one.conversation) for one in waiting}
        return [
            {
                **_asked_view(one),
                "facts": where_view(at[one.conversation].workspace, at[one.conversation].sandbox),
                "conversation": one.conversation,
                "title": clean(one.title),
                "door": one.door,
                "at": one.at,
            }
            for one in waiting
        ]


def _asked_view(one: WaitingQuestion) -> View:
    asked = one.asked
    return unreadable_view(one.seq, asked.why) if isinstance(asked, UnreadableEntry) else question_view(one.seq, asked)
