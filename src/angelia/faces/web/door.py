"""The door as a whole: what it is made of, listening, and let go in order."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import UNREADABLE, ConfigError
from angelia.core.ids import sortable_id
from angelia.faces.listener.serve import serve
from angelia.faces.web.a2a.call_routes import CallRoutes
from angelia.faces.web.a2a.pushes import TaskPushes
from angelia.faces.web.access.exposure import SETTING, Exposure, exposure
from angelia.faces.web.access.login_routes import LoginRoutes, LoginWays
from angelia.faces.web.api.api_description import DescriptionRoutes
from angelia.faces.web.api.conversation_routes import ConversationRoutes
from angelia.faces.web.api.doctor_routes import DoctorRoutes, Look
from angelia.faces.web.api.home_routes import HomeRoutes
from angelia.faces.web.api.live_routes import LiveRoutes
from angelia.faces.web.api.record_routes import RecordRoutes
from angelia.faces.web.api.settings_routes import SettingsRoutes
from angelia.faces.web.api.skill_routes import SkillRoutes
from angelia.faces.web.api.waiting_routes import WaitingRoutes
from angelia.faces.web.api_keys import ApiKeys
from angelia.faces.web.asgi.routes import Route, Routes
from angelia.faces.web.asgi.server import WebServer
from angelia.faces.web.conversations.uploads import Uploads
from angelia.faces.web.conversations.web_conversations import DrivesChats, WebConversations
from angelia.faces.web.page_routes import PageRoutes
from angelia.faces.web.v1.anthropic_messages import MessagesRoutes
from angelia.faces.web.v1.chat_completions import ChatRoutes
from angelia.faces.web.v1.files import FileRoutes
from angelia.faces.web.v1.responses import ResponseRoutes
from angelia.faces.web.v1.turns import ApiTurns
from angelia.service.keep_running import keep_running
from angelia.store.presence import is_alive

if TYPE_CHECKING:
    from angelia.service.app import App

STATE_FILE = "web.json"


class WebState(Struct, frozen=True):
    """What a page that is served says of itself to other processes of its home: its address, and its life."""

    address: str
    life: str


class WebDoor:
    """The page of an open home. `look` looks at every part of it; `chats` is the gateway in this process, where there
    is one.
    """

    def __init__(self, app: "App", look: Look | None = None, chats: DrivesChats | None = None) -> None:
        self._app = app
        self.ways = LoginWays(app.key_value, app.clock)
        self.logins = self.ways.logins
        self.keys = ApiKeys(app.key_value, app.clock)
        self.conversations = WebConversations(app, self.keys, chats)
        self._home = HomeRoutes(app)
        self._live = LiveRoutes(app)
        self._login = LoginRoutes(self.ways, app.audit, app.clock)
        uploads = Uploads(app.intake, app.key_value, app.clock)
        listed = [
            *ConversationRoutes(app, self.conversations, uploads).routes(),
            *self._live.routes(),
            *self._home.routes(),
            *RecordRoutes(app).routes(),
            *WaitingRoutes(app).routes(),
            *SkillRoutes(app).routes(),
            *SettingsRoutes(app.loaded, app.environ).routes(),
            *(DoctorRoutes(look).routes() if look else ()),
            *self._v1(app),
            *self._login.routes(),
            *PageRoutes().routes(),
        ]
        routes = Routes([*listed, *DescriptionRoutes(listed).routes()])
        self.server = WebServer(routes, self.logins, self.keys, lambda: self._origins)
        self._origins: frozenset[str] = frozenset()
        self.address = ""

    def _v1(self, app: "App") -> list[Route]:
        """What other programs ask for."""
        turns = ApiTurns(app, self.conversations)
        self.pushes = TaskPushes(app, self.keys, turns)
        return [
            *ChatRoutes(app, self.conversations, turns).routes(),
            *ResponseRoutes(app, self.conversations, turns).routes(),
            *MessagesRoutes(app, self.conversations, turns).routes(),
            *FileRoutes(app.transcript, app.blobs).routes(),
            *CallRoutes(app, turns, self.pushes).routes(),
        ]

    async def run(self, listen: str, begun: Callable[[], None] = lambda: None) -> None:
        """Serve until cancelled; `begun` is called once the page can be had.

        Raises:
            ConfigError: `listen` is no address or cannot be had; or others would reach it, and something is missing
                that has to stand before the page.
            MissingPart: uvicorn is not installed.
        """
        reached = exposure(self._app.loaded.config.web, listen)
        await demand_login(reached, self.ways)

        def at(port: int) -> None:
            self._origins = reached.origins(port)
            self._login.elsewhere = reached.origin
            self.address = reached.address(port)
            _tell(self._app.loaded.home, WebState(self.address, self._app.db.presence.name("the page")))
            begun()

        kept = {
            "what conversations left open": self.conversations.rouse,
            "what listeners are to be told": self.pushes.rouse,
            "the end of what rests": self.conversations.keep_few,
        }
        beside = [asyncio.create_task(keep_running(what, work)) for what, work in kept.items()]
        try:
            await serve(self.server, listen, SETTING, at, reached.front)
        finally:
            await cancel_and_wait(*beside)
            await self.pushes.close()
            self.conversations.end()
            self._home.events.end()
            async with AsyncExitStack() as closing:  # backwards; each is closed, whatever fails before
                closing.push_async_callback(self.conversations.close)
                closing.push_async_callback(self.server.close)
                closing.push_async_callback(self._live.views.close)

    async def link(self) -> str:
        """An address that logs in whoever opens it, once, within ten minutes."""
        return link_at(self.address, await self.logins.new_code())


def link_at(address: str, code: str) -> str:
    """The code stands behind `#`, so that no server and no log on the way is told it."""
    return f"{address}/#code={code}"


async def demand_login(reached: Exposure, ways: LoginWays) -> None:
    """Where others reach the page, there is something that they do not have.

    Raises:
        ConfigError: there is neither a password nor a passkey.
    """
    if reached.origin and not await ways.any_at(reached.origin):
        raise ConfigError(
            f"The page would be reached at {reached.origin}, and there is neither a password nor a passkey.",
            "Whoever gets in can do all that you can.",
            "`angelia web password` sets one; a passkey can be made on the page then.",
        )


def page_of(home: Path) -> WebState | None:
    """The page that is served for a home; none if none is."""
    try:
        state = msgspec.json.decode((home / STATE_FILE).read_bytes(), type=WebState)
    except (FileNotFoundError, *UNREADABLE):
        return None
    return state if is_alive(home / "alive", state.life) else None


def _tell(home: Path, state: WebState) -> None:
    unfinished = home / f".part-{sortable_id()}"
    unfinished.write_bytes(msgspec.json.encode(state))
    unfinished.replace(home / STATE_FILE)
