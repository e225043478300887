"""The conversations that the page has open: followed while somebody looks, driven while there is something to do.

Whoever else has one open (a terminal, the gateway) may drive it as well: the lease says who does, and everybody reads
what is stored.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.core.errors import AngeliaError, BadInput, ConfigError, NotFound, StoreBusy, StoreUnreachable, passes
from angelia.core.ids import CallId, CommandKey, ConversationId, DeliveryId, PlaceId, sortable_id
from angelia.core.principal import OWNER
from angelia.core.text import clean
from angelia.engine.state import waits_for_program
from angelia.engine.stopping import StoppingDriver
from angelia.faces.web.api_keys import ApiKey, ApiKeys
from angelia.faces.web.asgi.request import RequestRefused
from angelia.faces.web.conversations.driven_conversations import DOOR, DrivenConversations
from angelia.faces.web.conversations.named_files import NamedFiles
from angelia.faces.web.conversations.watched_conversation import WatchedConversation
from angelia.faces.words.mentions import MentionableFile
from angelia.sandboxes.workspace import make_own_folder, unfit, work_folder
from angelia.service.conversation.first_answer import Answer, NotOpen
from angelia.service.conversation.session import Session
from angelia.service.models.choice import choose
from angelia.service.people.budgets import offered
from angelia.store.log.lease import last_driven
from angelia.store.log.transcript import Summary

if TYPE_CHECKING:
    from angelia.service.app import App

UNUSED_MS = 10 * 60_000
"""How long a conversation at rest stays open that nobody looks at."""
_TIDY_S = 30.0
_ROUSED = 200
"""Conversations of this door, and others that it drove last, that are looked through at the start for a turn that an
earlier life left open.
"""
_ROUSED_AT_ONCE = 16
"""Of these as many side by side: one that waits for its sandbox or a server of tools holds up no other."""

_ENDED = "Angelia was ended here. What is open goes on at the next start."

_AGAIN_S = 2.0
"""After how long a conversation is tried again for which the store was busy; each try waits for it, too."""
_MENDED_S = 20.0
"""The same where somebody has to mend something, such as a full disk."""

logger = logging.getLogger("angelia.web")


class DrivesChats(Protocol):
    """A gateway in this process, for the conversations of its channels."""

    async def drive(self, conversation: ConversationId, door: str) -> Session | None:
        """Have one driven as its channel has it; None where that channel is not open here."""
        ...


class _Seen:
    """A conversation that is followed, and when it was last asked for."""

    def __init__(self, watched: WatchedConversation) -> None:
        self.watched = watched
        self.used = 0
        self.users = 0


class WebConversations:
    """Those of one process. `chats` drives what belongs to a channel, where a gateway is in this process."""

    def __init__(self, app: "App", keys: ApiKeys, chats: DrivesChats | None = None) -> None:
        self._app, self._keys = app, keys
        self._names = NamedFiles(app)
        self._chats = chats
        self._seen: dict[ConversationId, _Seen] = {}
        self._own = DrivenConversations(app, keys, self._tell_of)
        self._models: dict[ConversationId, str] = {}
        self._alone: WeakValueDictionary[ConversationId, asyncio.Lock] = WeakValueDictionary()
        self._trying: set[asyncio.Task[None]] = set()
        self._to_try: set[ConversationId] = set()
        self._ended = ""

    # -- looking ------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def watched(self, conversation: ConversationId) -> AsyncIterator[WatchedConversation]:
        """Follow one meanwhile.

        Raises:
            NotFound, CodecError, StoreDamaged: there is none of this id, or it cannot be read.
        """
        async with self._lock(conversation):
            seen = self._seen.get(conversation)
            if seen is None or not seen.watched.followed:
                await self.summary(conversation)
                watched = WatchedConversation(conversation, self._app.transcript, lambda: self._here(conversation))
                await watched.open()
                if self._ended:
                    watched.end(self._ended)
                seen = self._seen[conversation] = _Seen(watched)
        seen.users += 1
        seen.used = self._app.clock()
        try:
            yield seen.watched
        finally:
            seen.users -= 1

    async def summary(self, conversation: ConversationId) -> Summary:
        """One at a glance, also while nothing was said in it yet.

        Raises:
            NotFound: there is none of this id.
        """
        try:
            return await self._app.transcript.summary(OWNER, conversation)
        except NotFound:
            opened = await self._app.handed_out.of(conversation)
            if opened is None:
                raise
            at = (opened.workspace, opened.sandbox, opened.place or PlaceId(conversation))
            return Summary(conversation, "", 0, 0, 0, opened.door, opened.owner, *at)

    def _here(self, conversation: ConversationId) -> Session | None:
        return self._app.conversations.sessions.get(conversation)

    def _lock(self, conversation: ConversationId) -> asyncio.Lock:
        return self._alone.setdefault(conversation, asyncio.Lock())

    # -- doing --------------------------------------------------------------------------------------------------------

    async def begin(self, folder: str, sandbox: str) -> ConversationId:
        """A new conversation; it is in the store from its first message on.

        Raises:
            AccessRefused, ConfigError: it cannot work there.
        """
        home = self._app.loaded.home
        workspace = Path(folder).expanduser().absolute() if folder else await asyncio.to_thread(usual_folder, home)
        session = self._app.conversations.begin(door=DOOR, workspace=workspace, sandbox=sandbox)
        return await self._handed_out(session)

    async def begin_for(self, key: ApiKey) -> ConversationId:
        """A new conversation of a key's; it is in the store from its first message on.

        Raises:
            AccessRefused, ConfigError: it cannot work in the folder of the key.
        """
        workspace = Path(key.folder) if key.folder else work_folder(self._app.loaded.home) / e.API / key.name
        workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
        preset = key.preset or next(iter(offered(self._app.loaded.config, key.principal, (), "sandbox")), "")
        session = self._app.conversations.begin(door=e.API, workspace=workspace, sandbox=preset, owner=key.principal)
        return await self._handed_out(session)

    async def _handed_out(self, session: Session) -> ConversationId:
        """One that has just begun: its id is known outside from here on, before anything is said in it."""
        assert session.unspoken is not None
        await self._app.handed_out.keep(session.conversation, session.unspoken)
        self._own.take(session)
        return session.conversation

    async def say(
        self,
        conversation: ConversationId,
        parts: Sequence[Content],
        key: str,
        arrival: e.Arrival = e.Arrival.STEER,
        *,
        forwarded: bool = False,
    ) -> bool:
        """Store a message and have it answered; False if its key is known already.

        Raises:
            NotFound: there is no such conversation.
            BadInput: there is nothing in it, or it names something by an @ that cannot be had.
            ConfigError, SandboxError, KeyMissing: it cannot be answered as configured; nothing was stored.
            StoreError: it could not be stored.
        """
        async with self._lock(conversation):
            session = await self._driven(conversation)
            address = e.Address(DOOR, conversation)
            text = "" if forwarded else "\n".join(part.text for part in parts if isinstance(part, Text))
            if "@" in text:
                files = await self._names.files(session, text, await self.model(conversation))
                served = await self._names.resources(session, text)
                parts, forwarded = [*parts, *files, *served], bool(served)
            key = f"{conversation}:{key}"
            return await session.say(parts, address=address, key=key, arrival=arrival, forwarded=forwarded)

    async def names(self, conversation: ConversationId, begun: str) -> Sequence[MentionableFile]:
        """What a message may name by an @ that is typed so far. One that has not begun is driven from then on, as by
        its first message; one that rests goes on resting.

        Raises:
            NotFound, ConfigError, SandboxError, KeyMissing: as `say`.
        """
        async with self.watched(conversation) as watched:
            if not watched.entries:
                await self.session(conversation)
            if session := self._here(conversation):
                return await self._names.offered(session, begun)
            opened = watched.entries[0].fact
            assert isinstance(opened, e.ConversationOpened)
            return await self._names.offered_at_rest(conversation, opened, begun)

    def command_key(self, conversation: ConversationId, key: str) -> CommandKey:
        """What names a command that came under this key; a message may have the same one."""
        return CommandKey(DOOR, f"{conversation}:{key}:command")

    async def stop(self, conversation: ConversationId) -> bool:
        """Ask the running turn to stop; False when none runs. One that nobody drives, since a program has to bring
        something first, or the process that did has died, is driven to its end; so is one that cannot be gone on with.
        """
        async with self.watched(conversation) as watched:
            if not watched.turn.opened:
                return False
            await watched.look_who_drives()
            parked = waits_for_program(watched.turn) or watched.left_open
            await self._record(conversation, e.CancelAsked(OWNER))
        if parked:
            await self._end_stopped(conversation)
        return True

    async def _end_stopped(self, conversation: ConversationId) -> None:
        """Drive it to the end that was asked for; where it cannot be gone on with, by its log alone."""
        try:
            await self.session(conversation)
        except AngeliaError as error:
            if session := self._own.get(conversation):
                await session.attach(StoppingDriver(session.log, self._app.clock))
                self._tell(conversation, "")  # the next message tells it anew, if that is so still
            else:
                self._tell_of(conversation, error)

    async def go_on(self, conversation: ConversationId) -> bool:
        """Go on with what a process that died left open; False where nothing is, or somebody has gone on with it.

        Raises:
            ConfigError, SandboxError, KeyMissing: it cannot be gone on with as configured.
            StoreError: it is taken meanwhile, or cannot be read.
        """
        async with self.watched(conversation) as watched:
            await watched.look_who_drives()
            if not watched.left_open:
                return False
            await self.session(conversation)
            await watched.look_who_drives()
        return True

    async def stop_work(self, conversation: ConversationId, call: CallId) -> None:
        """Ask a child conversation to stop, or end a command that runs in the background; how it ended is in the log.

        Raises:
            RequestRefused: none of this name runs, or it runs in another process.
        """
        async with self.watched(conversation) as watched:
            child, runs = watched.child(call), watched.runs(call)
        if child:
            await self._record(child, e.CancelAsked(OWNER))
        elif not runs:
            raise RequestRefused(409, "This has ended already.", then="The conversation shows how.")
        elif not await self._app.conversations.end_work(conversation, call):
            raise RequestRefused(
                409, "This does not run here.", "Another process of yours began it, and holds it.", "Stop it there."
            )

    async def answer(self, conversation: ConversationId, call: CallId, digest: str, given: Answer) -> None:
        """Answer a question; what was asked is bound by its digest, so that no other is answered.

        Raises:
            RequestRefused: it is not open any more, or it is another one.
        """
        session = await self.known(conversation)
        asked = next((one for one in session.questions() if one.call == call), None)
        if asked and asked.digest != digest:
            raise RequestRefused(409, "The question has changed since it was shown.", then="Look at it again.")
        try:
            await session.record(given)
        except NotOpen as late:
            raise RequestRefused(409, late.what, late.why, late.then) from late
        if self._may_drive(session.turn.opener.address.door if session.turn.opener else DOOR):
            await self._drive_or_tell(conversation)

    async def shown(self, conversation: ConversationId, deliveries: Sequence[DeliveryId]) -> None:
        """What was queued for the page stands on it: this is the receipt. What is settled already stays as it is."""
        async with self.watched(conversation) as watched:
            queued = [entry.fact for entry in watched.entries if isinstance(entry.fact, e.DeliveryQueued)]
            mine = {one.id for one in queued if one.address.door == DOOR}
        for one in dict.fromkeys(deliveries):
            if one in mine:
                await self._record(conversation, e.DeliverySettled(one, e.DeliveryStatus.SENT, detail="on the page"))

    async def _record(self, conversation: ConversationId, fact: e.AnyFact) -> None:
        session = self._here(conversation)
        if session:
            await session.record(fact)
        else:
            await self._app.transcript.append(conversation, [fact])

    # -- driving ------------------------------------------------------------------------------------------------------

    async def model(self, conversation: ConversationId) -> str:
        """The model that answers in it: the one chosen here, or the last that was asked, while it can be had."""
        if chosen := self._models.get(conversation):
            return chosen
        app = self._app
        if seen := self._seen.get(conversation):
            setup = seen.watched.turn.setup
            with suppress(ConfigError):
                if setup and app.model_catalog.keyring.has(app.model_catalog.rows[_vendor(app, setup.model)]):
                    return setup.model
        presets = offered(app.loaded.config, (await self.summary(conversation)).owner, (), "model")
        if presets:
            return presets[0]
        return (await choose(app.loaded.config.model, app.model_catalog, app.key_value, None)).spec

    async def change_model(self, conversation: ConversationId, spec: str) -> None:
        """Another model from the next request on.

        Raises:
            BadInput: a turn is running.
            ConfigError, KeyMissing, MissingPart: it cannot be used; nothing was changed.
        """
        async with self._lock(conversation):
            session = await self._session(conversation)
            if session.turn.opened:
                raise BadInput("A turn is running.", then="Change the model when it has ended, or stop it.")
            await self._employ(session, spec)
            self._models[conversation] = spec

    async def session(self, conversation: ConversationId) -> Session:
        """One that is open in this process, and driven."""
        async with self._lock(conversation):
            return await self._driven(conversation)

    async def known(self, conversation: ConversationId) -> Session:
        """The session that is open here, else one of the log alone: for what nobody has to drive it for."""
        session = self._here(conversation) or Session(conversation, self._app.db, self._app.transcript, DOOR)
        with suppress(NotFound):  # nothing was said in it yet
            await session.catch_up()
        return session

    async def _drive_or_tell(self, conversation: ConversationId) -> None:
        """What was asked for is stored; why it is not gone on with stands in the conversation."""
        try:
            await self.session(conversation)
        except AngeliaError as error:
            self._tell_of(conversation, error)

    async def rouse(self) -> None:
        """Go on with the turns that an earlier life of this door left open."""
        look = self._app.transcript.conversations
        listed = [*await look(OWNER, _ROUSED, door=DOOR), *await look(OWNER, _ROUSED, door=e.API)]
        begun_elsewhere = await last_driven(self._app.db, DOOR, _ROUSED)
        found = [*dict.fromkeys([*(own.id for own in listed), *begun_elsewhere])]
        waiting = iter(await self._app.transcript.unfinished(found))

        async def some() -> None:
            for conversation in waiting:
                await self._roused(conversation)

        async with asyncio.TaskGroup() as side_by_side:
            for _ in range(_ROUSED_AT_ONCE):
                side_by_side.create_task(some())

    async def _roused(self, conversation: ConversationId) -> None:
        try:
            async with self.watched(conversation) as watched:
                turn = watched.turn
                ours = self._may_drive(turn.opener.address.door if turn.opener else DOOR)
                open_here = turn.opened and ours and not waits_for_program(turn)
                if open_here or turn.unread or watched.state()["work"]:
                    await self.session(conversation)
        except Exception as error:  # noqa: BLE001 - told on the page, and logged
            self._tell_of(conversation, error)

    def _tell_of(self, conversation: ConversationId, error: Exception) -> None:
        """Say on the page why it is not gone on with. What may be over in a while is tried again; else the next message
        tries.
        """
        if isinstance(error, AngeliaError):
            logger.warning("conversation %s is not driven: %s", conversation, error)
            why = str(error)
        else:
            code = sortable_id(self._app.clock)[-8:]
            logger.error("conversation %s is not driven, code %s", conversation, code, exc_info=error)
            why = f"A fault of ours, code {code}."
        self._tell(conversation, clean(why))
        if isinstance(error, AngeliaError) and passes(error) and conversation not in self._to_try:
            self._to_try.add(conversation)
            passing = isinstance(error, StoreBusy | StoreUnreachable)
            trying = asyncio.create_task(self._go_on(conversation, _AGAIN_S if passing else _MENDED_S))
            self._trying.add(trying)
            trying.add_done_callback(self._trying.discard)

    def _tell(self, conversation: ConversationId, why: str) -> None:
        if seen := self._seen.get(conversation):
            seen.watched.fail(why)

    async def _go_on(self, conversation: ConversationId, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._to_try.discard(conversation)
        await self._roused(conversation)

    def end(self) -> None:
        """Whoever waits for an answer is told that it does not come in this life; what is said still is stored."""
        self._ended = _ENDED
        for seen in self._seen.values():
            seen.watched.end(self._ended)

    async def close(self) -> None:
        """Leave everything; open turns stay open in the log."""
        await cancel_and_wait(*self._trying)
        await self._own.close()
        for seen in self._seen.values():
            await seen.watched.close()

    def _may_drive(self, door: str) -> bool:
        """A turn of a channel is driven by its gateway, if one runs; any other by whoever has it open."""
        from angelia.service.chats.gateway import gateway_runs

        return door not in self._app.loaded.config.channels or not gateway_runs(self._app.loaded.home)

    async def _driven(self, conversation: ConversationId) -> Session:
        session = await self._session(conversation)
        if self._own.waits_for_model(conversation):
            await self._employ(session, await self.model(conversation))
        return session

    async def _session(self, conversation: ConversationId) -> Session:
        if own := self._own.get(conversation):
            return own
        if self._chats:
            door = (await self.summary(conversation)).door
            if session := await self._chats.drive(conversation, door):
                return session
        if here := self._here(conversation):
            return here
        session = await self._app.conversations.resume(conversation, door=DOOR)
        self._own.take(session)
        return session

    async def _employ(self, session: Session, model: str) -> None:
        await self._own.employ(session, model)
        if seen := self._seen.get(session.conversation):
            seen.watched.look()
            seen.watched.fail(self._ended)

    # -- letting go ---------------------------------------------------------------------------------------------------

    async def keep_few(self) -> None:
        """Until cancelled: let go of what nobody looks at. What is at rest is opened again when somebody comes."""
        while True:
            end_if_cancelled()
            await asyncio.sleep(_TIDY_S)
            for conversation in tuple(self._seen):
                async with self._lock(conversation):
                    await self._let_go(conversation)

    async def _let_go(self, conversation: ConversationId) -> None:
        seen = self._seen[conversation]
        if seen.users or seen.watched.read or seen.used > self._app.clock() - UNUSED_MS:
            return
        own = self._own.get(conversation)
        if own and not own.at_rest:
            return
        await self._own.leave(conversation)
        await seen.watched.close()
        del self._seen[conversation]


def _vendor(app: "App", spec: str) -> str:
    return app.model_catalog.profile(spec).vendor


def usual_folder(home: Path) -> Path:
    """Where Angelia was started, if a conversation may work there, else a folder made for it."""
    here = Path.cwd()
    return make_own_folder() if unfit(here, home) else here
