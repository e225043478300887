"""The methods of the protocol: each is a call into the service, and its result in the protocol's words."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from angelia.acp.faults import INVALID_REQUEST, LOGIN, Fault
from angelia.acp.rpc import Method, Notice, Peer, Then
from angelia.core import entry as e
from angelia.core.errors import BadInput, ConfigError, KeyMissing, NotFound
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.core.version import PACKAGE_VERSION
from angelia.faces.acp import incoming as i
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import results as r
from angelia.faces.acp.checked import folder_in, left_out, mark_in, once_folder, time_of
from angelia.faces.acp.conversation import AcpConversation
from angelia.faces.acp.session_sender import DOOR, Client
from angelia.service.conversation.reopening import moves, reopened_in
from angelia.service.models.choice import ModelChoice, choose
from angelia.tools.mcp.servers import able_to_connect

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session

VERSION = 1
"""The protocol's version that we speak."""

PAGE = 50
"""Sessions of one answer to `session/list`."""

KEY = r.Login(
    "key",
    "A key of a model's provider",
    "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or the like where the editor is started, or key_command in config.toml.",
)


logger = logging.getLogger("angelia.acp")


class AcpAgent:
    """One connection: who the client is, and the sessions that it has open."""

    def __init__(self, app: "App", write: Callable[[bytes], None], flushed: Callable[[], Awaitable[None]]) -> None:
        self.app = app
        self._flushed = flushed
        self._open: dict[str, AcpConversation] = {}
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._client: Client | None = None
        self._choice: ModelChoice | None = None
        self._logged_out = False
        self.peer = Peer(write, self._methods(), {"session/cancel": Notice(i.OneSession, self._cancel)})

    def _methods(self) -> dict[str, Method]:
        return {
            "initialize": Method(i.Initialize, self._initialize),
            "authenticate": Method(i.Authenticate, self._authenticate),
            "logout": Method(i.Logout, self._logout),
            "session/new": Method(i.NewSession, self._new),
            "session/load": Method(i.OpenSession, self._load),
            "session/resume": Method(i.OpenSession, self._resume),
            "session/list": Method(i.ListSessions, self._list),
            "session/close": Method(i.OneSession, self._close),
            "session/delete": Method(i.OneSession, self._delete),
            "session/set_mode": Method(i.SetMode, self._set_mode),
            "session/set_config_option": Method(i.SetOption, self._set_option),
            "session/prompt": Method(i.AcpPrompt, self._prompt, stop=self._stop),
        }

    async def close(self) -> None:
        """The client is gone: leave everything, side by side; open turns stay open in the log.

        No turn goes on without its client, whose files and terminals are away: each would take that for a stop.
        """
        for session in self.app.conversations.sessions.values():
            session.stop_driving()
        await self.peer.close()
        await asyncio.gather(*(conversation.close() for conversation in self._open.values()))

    # -- the connection -----------------------------------------------------------------------------------------

    async def _initialize(self, given: i.Initialize) -> r.Initialized:
        """One version is spoken, whichever is asked for; a client that speaks another one leaves."""
        self._client = Client(self.peer, given.client_capabilities, self._flushed)
        able = r.AgentCapabilities(
            load_session=True,
            prompt_capabilities=r.PromptCapabilities(image=True, audio=True, embedded_context=True),
            mcp_capabilities=r.McpCapabilities(http=able_to_connect(), sse=able_to_connect()),
            session_capabilities=r.SessionCapabilities(o.Nothing(), o.Nothing(), o.Nothing(), o.Nothing()),
            auth=r.AuthCapabilities(o.Nothing()),
        )
        return r.Initialized(VERSION, able, (KEY,), r.AgentInfo("angelia", "Angelia", PACKAGE_VERSION))

    @property
    def client(self) -> Client:
        """Raises Fault before `initialize`."""
        if self._client is None:
            raise Fault(INVALID_REQUEST, "`initialize` comes first.")
        return self._client

    async def _authenticate(self, given: i.Authenticate) -> o.Nothing:
        """Read the keys again; without one for the model in use it fails and says where to put it."""
        if given.method_id != KEY.id:
            raise BadInput(f"There is no way to log in called {given.method_id[:50]!r}.", then=f"There is {KEY.id!r}.")
        model_catalog = self.app.model_catalog
        for vendor in model_catalog.rows.values():
            model_catalog.keyring.forget(vendor)
        self._choice = None
        spec = (await self._chosen()).spec
        vendor = model_catalog.rows[model_catalog.profile(spec).vendor]
        if not await model_catalog.keyring.pool(vendor):
            raise KeyMissing(f"There is no key for {spec}.", then=KEY.description)
        self._logged_out = False
        return o.Nothing()

    async def _logout(self, _: i.Logout) -> o.Nothing:
        """Until the next `authenticate` nothing is opened or asked on this connection."""
        self._logged_out = True
        return o.Nothing()

    def _must_be_logged_in(self) -> None:
        if self._logged_out:
            raise Fault(LOGIN, "You have logged out. Log in again first.")

    async def _chosen(self) -> ModelChoice:
        if self._choice is None:
            app = self.app
            self._choice = await choose(app.loaded.config.model, app.model_catalog, app.key_value, None)
        return self._choice

    # -- opening sessions ---------------------------------------------------------------------------------------

    async def _new(self, given: i.NewSession) -> Then:
        self._must_be_logged_in()
        client = self.client
        chosen = await self._chosen()
        folder = folder_in(given.cwd)
        session = self.app.conversations.begin(door=DOOR, workspace=folder)
        conversation = AcpConversation(self.app, session, client, chosen.spec, folder)
        try:
            await conversation.be_driven(given.mcp_servers)
        except BaseException:
            await conversation.close()
            raise
        if session.unspoken:
            await self.app.handed_out.keep(session.conversation, session.unspoken)
        self._open[session.conversation] = conversation
        notes = left_out(given.additional_directories)
        if chosen.embedded:
            notes.insert(0, chosen.because)

        def attach() -> None:
            conversation.attach()
            conversation.say_aloud(notes)

        return Then(conversation.choosing.opened(session.conversation), attach)

    async def _load(self, given: i.OpenSession) -> Then:
        return await self._reopen(given, replay=True)

    async def _resume(self, given: i.OpenSession) -> Then:
        return await self._reopen(given, replay=False)

    async def _reopen(self, given: i.OpenSession, *, replay: bool) -> Then:
        self._must_be_logged_in()
        folder = folder_in(given.cwd)
        async with self._alone_with(given.session_id):
            known = self._open.get(given.session_id)
            if known and moves(known.session, folder):
                if not known.session.at_rest:
                    raise BadInput("Something runs in this conversation.", then="Wait for it, or stop it first.")
                await self._let_go(known)  # what it works with knows the folder by its old name
                known = None
            conversation = known or await self._stored(given.session_id, self.client, folder)
            try:
                moved = await reopened_in(conversation.session, folder, self.app.loaded.home)
                notes = await conversation.open_again(given.mcp_servers, replay=replay)
            except BaseException:
                if not known:
                    await conversation.close()
                raise
            self._open[given.session_id] = conversation
        notes += [moved] if moved else []
        notes += left_out(given.additional_directories)

        def attach() -> None:
            conversation.attach()
            conversation.say_aloud(notes)

        return Then(conversation.choosing.opened(), attach)

    def _alone_with(self, number: str) -> asyncio.Lock:
        """Held by who opens or lets go of a session: each of two that come at once finds it as the other left it."""
        return self._opening.setdefault(number, asyncio.Lock())

    async def _stored(self, number: str, client: Client, folder: Path) -> AcpConversation:
        """A conversation that is in the store and not open here.

        Raises:
            NotFound: there is none of this id.
        """
        session = await self.app.conversations.resume(ConversationId(number), door=DOOR)
        return AcpConversation(self.app, session, client, await self._last_model(session), folder)

    async def _last_model(self, session: "Session") -> str:
        """The model that was last asked here, while there is a key for it; else the one for new sessions."""
        model_catalog = self.app.model_catalog
        setups = (entry.fact for entry in reversed(session.log.entries))
        last = next((fact.model for fact in setups if isinstance(fact, e.SetupChanged)), "")
        with suppress(ConfigError):
            if last and model_catalog.keyring.has(model_catalog.rows[model_catalog.profile(last).vendor]):
                return last
        return (await self._chosen()).spec

    async def _let_go(self, conversation: AcpConversation) -> None:
        self._open.pop(conversation.session.conversation, None)
        await conversation.close()

    def _session(self, number: str) -> AcpConversation:
        conversation = self._open.get(number)
        if conversation is None:
            raise NotFound(f"The session {number[:50]!r} is not open.", then="Load it, or begin a new one.")
        return conversation

    # -- what there is ------------------------------------------------------------------------------------------

    async def _list(self, given: i.ListSessions) -> r.Sessions:
        mark = mark_in(given.cursor) if given.cursor else None
        folder = str(once_folder(given.cwd)) if given.cwd else None
        found = await self.app.transcript.conversations(OWNER, PAGE + 1, workspace=folder, before=mark)
        page, more = found[:PAGE], found[PAGE:]
        listed = tuple(r.AcpListed(one.id, one.workspace, one.title or None, time_of(one.last_at)) for one in page)
        return r.Sessions(listed, f"{page[-1].last_at}.{page[-1].id}" if more else None)

    async def _close(self, given: i.OneSession) -> o.Nothing:
        async with self._alone_with(given.session_id):
            conversation = self._session(given.session_id)
            await conversation.finish()
            await self._let_go(conversation)
        return o.Nothing()

    async def _delete(self, given: i.OneSession) -> o.Nothing:
        """Erase it for good; one that was opened and never spoken to is nowhere yet."""
        number = ConversationId(given.session_id)
        async with self._alone_with(given.session_id):
            unspoken = await self.app.handed_out.of(number) is not None
            await self.app.handed_out.forget(number)
            if conversation := self._open.get(given.session_id):
                await conversation.finish()
                await self._let_go(conversation)
                if not conversation.session.log.entries:
                    return o.Nothing()
            try:
                if left := await self.app.deletion.delete(number):
                    logger.warning("the sandbox of %s is left behind: %s", number, left)
            except NotFound:
                if not unspoken:
                    raise
        return o.Nothing()

    # -- in a session -------------------------------------------------------------------------------------------

    async def _prompt(self, given: i.AcpPrompt) -> r.Stopped:
        self._must_be_logged_in()
        return await self._session(given.session_id).prompt(given.prompt)

    async def _stop(self, given: i.AcpPrompt) -> None:
        await self._session(given.session_id).cancel()

    async def _cancel(self, given: i.OneSession) -> None:
        await self._session(given.session_id).cancel()

    async def _set_mode(self, given: i.SetMode) -> o.Nothing:
        await self._session(given.session_id).choose("mode", given.mode_id)
        return o.Nothing()

    async def _set_option(self, given: i.SetOption) -> r.OptionSet:
        conversation = self._session(given.session_id)
        await conversation.choose(given.config_id, given.value)
        return r.OptionSet(conversation.choosing.options())
