"""The conversations of the chats: which one a chat is in, open while it is used."""

import asyncio
import logging
import resource
from collections import Counter, OrderedDict
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from msgspec import Struct

from angelia.channels.settings import ChannelSettings
from angelia.core import entry as e
from angelia.core.days import DAY_MS
from angelia.core.errors import AngeliaError, CodecError, StoreDamaged
from angelia.core.ids import ConversationId, sortable_id, steady_clock
from angelia.core.person_role import PersonRole
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.core.text import fenced
from angelia.core.unambiguous import claimed, unambiguous_line
from angelia.engine.background import BackgroundWork
from angelia.engine.slices import in_slices
from angelia.engine.state import Turn, folding
from angelia.path_queries import exists
from angelia.policy.approvers import Approvers
from angelia.sandboxes.workspace import work_folder
from angelia.service.chats.dispatcher import DeliveryDispatcher
from angelia.service.chats.notices import begun_anew, introduction, left_lying
from angelia.service.chats.open_channel import OpenChannel, wait
from angelia.service.chats.owner_chat import owner_chat
from angelia.service.chats.people import ChatKey, owners_among
from angelia.service.chats.question_delivery import asked_in_chat, told_to_guest
from angelia.service.chats.questions import question_id
from angelia.service.chats.services import ChatServices
from angelia.service.chats.watch import ChatWatch
from angelia.service.conversation.session import Session
from angelia.service.conversation.speakers import guests_in
from angelia.service.files.instruction_files import on_this_machine
from angelia.service.keep_running import keep_running
from angelia.service.models.choice import choose
from angelia.service.people.budgets import offered
from angelia.service.people.roles import role_of_all
from angelia.service.places.presets import kept

MOST_OPEN = 2000
"""Conversations at rest that stay open: some 75 kB each."""
_DESCRIPTORS = 4
"""Open files that a conversation holds while it rests, about: the line to a sandbox elsewhere, or to a server of tools.
One that works on this machine holds none.
"""
_OTHER_DESCRIPTORS = 100
"""Open files of the rest of the process: the store, connections, what is being sent and received."""
UNUSED_MS = DAY_MS
"""How long one stays open that nobody uses, such as one that was left by `/new`; it is opened again when it is."""
_FOLDER_ELSEWHERE = (
    "This chat is served by another machine now, and its working folder is empty here. Files that were made in it"
    " before lie on the machine that served it until now. Say so if they matter for what you are asked."
)
_REST_S = 0.2
"""How often it is looked whether a conversation rests that is to be let go."""
_ROUSED_AT_ONCE = 16
"""Conversations that are gone on with side by side at a start: most of the time they wait, for a sandbox, a server of
tools or the store, and each one's log is in memory meanwhile.
"""

logger = logging.getLogger("angelia.chats")


def most_open() -> int:
    """Conversations at rest that stay open, with the descriptors that this process may have."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST_OPEN
    return max(1, min(MOST_OPEN, (limit - _OTHER_DESCRIPTORS) // _DESCRIPTORS))


class _Open(Struct):
    """A conversation that is held open, and when it was last asked for."""

    session: Session
    watch: ChatWatch
    used: int


class ChatSessions:
    """Every conversation that chats have open in this process."""

    def __init__(self, services: ChatServices, dispatcher: DeliveryDispatcher) -> None:
        self.services, self._dispatcher = services, dispatcher
        self._open: OrderedDict[ConversationId, _Open] = OrderedDict()
        self._worked: dict[ConversationId, asyncio.Task[None]] = {}
        self._held = Counter[ConversationId]()
        self._leaving: dict[ConversationId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening: WeakValueDictionary[ConversationId, asyncio.Lock] = WeakValueDictionary()
        self._employing: WeakValueDictionary[ConversationId, asyncio.Lock] = WeakValueDictionary()

    async def at(self, line: OpenChannel, chat_key: ChatKey, owner: Principal) -> Session | None:
        """The conversation of a chat, or None before its first. Where its log cannot be read, the chat goes on in a new
        one, which says so; the log stays as it is.
        """
        conversation = await self.services.doors.conversation(chat_key.address, chat_key.person)
        try:
            return await self.session(conversation) if conversation else None
        except (StoreDamaged, CodecError) as error:
            assert conversation is not None
            return await self._begin_anew(line, chat_key, owner, conversation, error)

    async def _begin_anew(
        self, line: OpenChannel, chat_key: ChatKey, owner: Principal, before: ConversationId, error: AngeliaError
    ) -> Session:
        logger.warning("conversation %s cannot be gone on with: %s", before, error)
        session = self.begin(line, chat_key, owner)
        first = introduction(line, chat_key, owner, self.services.config.gateway)
        await session.record(*first, begun_anew(chat_key.address, before, error))
        return session

    def begin(self, line: OpenChannel, chat_key: ChatKey, owner: Principal, sandbox: str = "") -> Session:
        """A new conversation for a chat; it is in the store from its first entry on, and bound by `DoorMoved` alone.

        Raises:
            ConfigError: there is no such preset of a sandbox.
        """
        chat = line.settings.chats.get(chat_key.address.chat)
        presets = offered(self.services.config, owner, line.settings.sandbox, "sandbox")
        preset = sandbox or (chat.sandbox if chat else "") or next(iter(presets), "")
        session = self.services.conversations.begin(
            door=chat_key.address.door, workspace=self._folder(line, chat_key), sandbox=preset, owner=owner
        )
        self._keep(session)
        return session

    async def session(self, conversation: ConversationId) -> Session:
        """A stored conversation, open.

        Raises:
            NotFound: it was erased.
            CodecError: an entry cannot be read by this version.
        """
        async with self._opening.setdefault(conversation, asyncio.Lock()):
            if conversation not in self._open:
                if leaving := self._leaving.get(conversation):
                    await asyncio.wait([leaving])  # its place is not to be taken from under its successor
                session = await self.services.conversations.resume(conversation, door="gateway")
                self._keep(session)
                self._ask_again(session)
        found = self._open[conversation]
        found.used = self.services.clock()
        self._open.move_to_end(conversation)
        return found.session

    async def driven(self, conversation: ConversationId, door: str) -> Session | None:
        """A stored conversation, open and driven as its channel has it; None where that channel is not open here, or
        went while it was opened: then nothing is kept of it here, since whoever has the channel now drives it.

        Raises:
            NotFound, CodecError, ConfigError, SandboxError: as `session` and `work`.
        """
        if not self._dispatcher.has(door):
            return None
        session = await self.session(conversation)
        if not self._dispatcher.has(door):
            await self._leave_to_others(session)
            return None
        with self.held(session):
            await self.work(session, self._dispatcher.line(door))
        return session

    async def _leave_to_others(self, session: Session) -> None:
        """Let go of one whose channel went, unless something is under way here: that is let go of at its end."""
        conversation = session.conversation
        goes_on = self._held[conversation] or (conversation in self._worked and not session.at_rest)
        if not goes_on and (one := self._open.pop(conversation, None)):
            self._leaving[conversation] = leaving = self.spawn(self._let_go(one))
            await asyncio.wait([leaving])

    @contextmanager
    def held(self, session: Session) -> Iterator[None]:
        """Keep one open meanwhile, whoever else has to be opened: something for it is on its way in."""
        self._held.update([session.conversation])
        try:
            yield
        finally:
            self._held -= Counter([session.conversation])  # and what is at nought is forgotten

    async def work(self, session: Session, line: OpenChannel) -> None:
        """Drive a conversation from now on, with the model of its own, its chat's or its channel's.

        Raises:
            ConfigError, SandboxError: it cannot be driven as configured; says how to mend it.
        """
        async with self._employing.setdefault(session.conversation, asyncio.Lock()):
            if session.conversation not in self._worked:
                await self._have_folder(session, line)
                await self._employ(session, line, await self.model_of(session, line))

    async def change_model(self, session: Session, line: OpenChannel, spec: str) -> None:
        """Use another model from the next request on, in later lives too.

        Raises:
            ConfigError: it cannot be used as configured; nothing was changed.
        """
        async with self._employing.setdefault(session.conversation, asyncio.Lock()):
            await self._employ(session, line, spec)
        await self.services.key_value.put(_model_key(session.conversation), spec)

    async def model_of(self, session: Session, line: OpenChannel) -> str:
        """The model of a conversation."""
        chosen = await self.services.key_value.get(_model_key(session.conversation))
        reached = await self.services.doors.of_conversation(OWNER, session.conversation)
        own = line.settings.chats
        chats = [own[one.address.chat].model for one in reached if one.address.chat in own]
        presets = offered(self.services.config, session.owner, line.settings.model, "model")
        named = chosen or next((model for model in chats if model), "") or next(iter(presets), "")
        if named:
            return named
        services = self.services
        return (await choose(services.config.model, services.model_catalog, services.key_value, None)).spec

    def ask(self, session: Session) -> None:
        """Put the open questions of a conversation to its chat, each once."""
        self.spawn(self._ask(session))

    async def rouse(self, line: OpenChannel) -> int:
        """Go on with every turn of a channel that an earlier life left open, and with every helper that it left at
        work, where that is not done here yet; returns in how many conversations.
        """
        reached = await self.services.doors.of_door(OWNER, line.channel.door)
        chats = [one for one in dict.fromkeys(one.conversation for one in reached) if one not in self._worked]
        waiting = iter(await self.services.transcript.unfinished(chats))

        async def some() -> int:
            return sum([await self._roused(conversation, line) for conversation in waiting])

        async with asyncio.TaskGroup() as side_by_side:
            found = [side_by_side.create_task(some()) for _ in range(_ROUSED_AT_ONCE)]
        return sum(task.result() for task in found)

    async def _roused(self, conversation: ConversationId, line: OpenChannel) -> bool:
        """Whether there was something to go on with, and it could be; who waits for it is told why it could not."""
        turn = Turn()
        try:
            log = await self.services.transcript.entries(conversation)
            turn = await in_slices(folding(Turn(), log))
            behind = BackgroundWork().now(log)
            if not (turn.opened or turn.unread or any(one.child for one in behind)):
                if not behind:
                    await self.services.transcript.note_rest(conversation, len(log))
                return False
            await self.work(await self.session(conversation), line)
        except (StoreDamaged, CodecError) as error:
            owner = (await self.services.transcript.summary(OWNER, conversation)).owner
            for one in await self.services.doors.of_conversation(OWNER, conversation):
                if one.address.door == line.channel.door:
                    await self._begin_anew(line, ChatKey(one.address, one.person), owner, conversation, error)
        except AngeliaError as error:
            logger.warning("conversation %s cannot be gone on with: %s", conversation, error)
            await self._tell_of(conversation, turn, str(error))
        except Exception as error:
            code = sortable_id(self.services.clock)[-8:]
            logger.exception("conversation %s is not gone on with, code %s", conversation, code, exc_info=error)
            await self._tell_of(conversation, turn, f"A fault of ours, code {code}.")
        else:
            return True
        return False

    async def _tell_of(self, conversation: ConversationId, turn: Turn, why: str) -> None:
        """Once for each turn, however many lives fail at it."""
        told = left_lying(conversation, turn, why)
        try:
            entries = await self.services.transcript.entries(conversation) if told else ()
            if told and not any(isinstance(one.fact, e.DeliveryQueued) and one.fact.id == told.id for one in entries):
                await self.services.transcript.append(conversation, [told])
                self._dispatcher.signal()
        except AngeliaError as error:
            logger.warning("nobody in conversation %s could be told: %s", conversation, error)

    async def owners_chat(self, door: str) -> tuple[Session, e.Address] | None:
        """The owner's own chat of a door and the conversation there; None before they wrote."""
        address = await self.owners_address(door)
        session = await self.at(self._dispatcher.line(address.door), ChatKey(address), OWNER) if address else None
        return (session, address) if session and address else None

    async def owners_address(self, door: str) -> e.Address | None:
        """The owner's own chat, through this door or else through another open one; None before they wrote.

        Whoever wrote there is an owner now, too: the settings may have changed.
        """
        for one in dict.fromkeys((door, *self._dispatcher.doors)):
            found = await owner_chat(self.services.key_value, one)
            if found and self._dispatcher.known(one) and found[1] in await self.owners(one):
                return found[0]
        return None

    async def owners(self, door: str) -> frozenset[str]:
        """The ids of a channel's owners, those who were let in as one included."""
        return frozenset(owners_among(await self.services.admission.roles.at(door, self.settings(door))))

    def settings(self, door: str) -> ChannelSettings:
        """What is set of a channel; the usual where it never was open here."""
        known = self._dispatcher.known(door)
        return known.settings if known else ChannelSettings()

    def open_sessions(self) -> list[Session]:
        """The conversations that are open in this process; one with a turn that is open is among them."""
        return [one.session for one in self._open.values()]

    async def finish(self, seconds: float, door: str = "") -> None:
        """Let go of every conversation here, or of those that are reached through a door, each as soon as it rests;
        after so many seconds of all that are left, whose turns stay open in the log for whoever goes on with them.
        """
        until = steady_clock() + seconds * 1000
        while mine := [one for one in list(self._open.values()) if not door or await self._is_of(one.session, door)]:
            cut = steady_clock() >= until
            resting = [self._open.pop(one.session.conversation, None) for one in mine if cut or self._may_go(one)]
            for one in resting:
                if one is not None:
                    leaving = self.spawn(self._let_go(one))
                    self._leaving[one.session.conversation] = leaving
                    await asyncio.wait([leaving])
            await wait(None, _REST_S)

    async def _is_of(self, session: Session, door: str) -> bool:
        opener = session.turn.opener
        if door in (session.door, opener.address.door if opener else ""):
            return True
        reached = await self.services.doors.of_conversation(OWNER, session.conversation)
        return any(one.address.door == door for one in reached)

    async def close(self) -> None:
        """Stop every conversation; open turns stay open in the log."""
        leaving = tuple(self._leaving.values())  # these go to their end: half left is neither open nor closed
        for task in {*self._worked.values(), *self._tasks}.difference(leaving):
            task.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)
        for conversation in tuple(self._open):
            await self._let_go(self._open.pop(conversation))

    async def _employ(self, session: Session, line: OpenChannel, spec: str) -> None:
        conversations = self.services.conversations
        await conversations.employ(session, spec, approvers=partial(self._approvers, session))
        if session.conversation not in self._worked:
            self._worked[session.conversation] = self.spawn(self._stand_by(session, line))

    # -- keeping ----------------------------------------------------------------------------------------------------

    def _keep(self, session: Session) -> None:
        """Hold one open, and let those go that are not needed open any more."""
        for conversation in self._unneeded():
            self._leaving[conversation] = self.spawn(self._let_go(self._open.pop(conversation)))
        watch = ChatWatch(session, self._dispatcher, self.ask)
        self._open[session.conversation] = _Open(session, watch, self.services.clock())

    def _unneeded(self) -> list[ConversationId]:
        """Those at rest that nobody used for a day, and of the others as many as are too many, longest unused first."""
        found: list[ConversationId] = []
        for conversation, one in self._open.items():
            if one.used > self.services.clock() - UNUSED_MS and len(self._open) - len(found) < most_open():
                break
            if self._may_go(one):
                found.append(conversation)
        return found

    def let_rest_go(self) -> None:
        """Let go of all that are at rest: this process has no file left that it could open."""
        for conversation in [name for name, one in self._open.items() if self._may_go(one)]:
            self._leaving[conversation] = self.spawn(self._let_go(self._open.pop(conversation)))

    def _may_go(self, one: _Open) -> bool:
        return one.session.at_rest and not self._held[one.session.conversation]

    async def _let_go(self, one: _Open) -> None:
        conversation = one.session.conversation
        if task := self._worked.pop(conversation, None):
            task.cancel()
        one.watch.end()
        try:
            await self.services.conversations.leave(one.session)
        finally:
            self._leaving.pop(conversation, None)

    async def _stand_by(self, session: Session, line: OpenChannel) -> None:
        """If driving fails, such as on a full disk, it is taken up again: nobody is left without an ending."""
        again = False

        async def driven() -> None:
            nonlocal again
            if again:
                await session.log.refresh()
                await self._employ(session, line, await self.model_of(session, line))
            again = True
            await session.driven()

        await keep_running(f"conversation {session.conversation}", driven)

    def _ask_again(self, session: Session) -> None:
        if session.questions():
            self.ask(session)

    async def _approvers(self, session: Session, kind: e.QuestionKind, speakers: Sequence[Principal]) -> Approvers:
        """Who may answer in the running turn, and where: the owner in a turn of theirs there; in somebody else's, of
        what the model asks by itself, they as well, and of a permission the owner in their own chat, if there is one to
        ask in.
        """
        first, role = session.turn.opener, await self._role(speakers)
        if first is None:
            return Approvers((OWNER,), role=role)
        if kind is e.QuestionKind.CHOICE:
            return Approvers(tuple(dict.fromkeys((OWNER, first.principal))), first.address, role)
        if first.principal == OWNER or not self._dispatcher.known(first.address.door):
            return Approvers((OWNER,), first.address, role)
        there = await self.owners_address(first.address.door)
        return Approvers((OWNER,), there, role) if there else Approvers(role=role)

    async def _role(self, speakers: Sequence[Principal]) -> PersonRole | None:
        """As whose it is judged what they want."""
        known = dict[Principal, PersonRole]()
        for door in {one.door for one in speakers}:
            known |= await self.services.admission.roles.at(door, self.settings(door))
        return role_of_all(speakers, known)

    async def _ask(self, session: Session) -> None:
        first = session.turn.opener
        if first is None or not self._dispatcher.known(first.address.door):
            return
        entries = session.log.entries
        known = {entry.fact.id for entry in entries if isinstance(entry.fact, e.DeliveryQueued)}
        for asked in session.questions():
            if question_id(session.conversation, asked) not in known:
                await self._put(session, first, asked)

    async def _put(self, session: Session, first: e.Opener, asked: e.ApprovalAsked) -> None:
        """Ask in the turn's own chat, or, for a guest's permission and whatever else is not theirs, in the owner's."""
        permission = asked.asks is e.QuestionKind.PERMISSION or first.principal not in asked.approvers
        kind = e.QuestionKind.PERMISSION if permission else asked.asks
        approvers = await self._approvers(session, kind, guests_in(session))
        if not approvers.principals:
            why = "It needs the owner's yes, and they have no chat here in which they could be asked."
            await session.record(e.ApprovalRefused(asked.call, ANGELIA, why))
            return
        whom = await self._whom(session) if permission else ""
        there, store = approvers.address, self.services.intake.to_media
        line = self._dispatcher.known(there.door)
        assert line is not None  # it is where the turn was opened, or where the owner wrote
        queued: list[e.AnyFact] = [await asked_in_chat(session.conversation, there, asked, (line, whom), store)]
        if permission and first.principal != OWNER:
            queued.append(told_to_guest(session.conversation, first.address, asked))
        await session.record(*queued)

    async def _whom(self, session: Session) -> str:
        """For whom the running turn works besides the owner, as its question says; empty for nobody."""
        names = {one.principal: one.name for one in await self.services.admission.pairings.list(OWNER)}
        told = [f"{claimed(names.get(one, ''))} ({unambiguous_line(str(one))})".strip() for one in guests_in(session)]
        return f"For somebody else, who cannot allow it:\n{fenced(chr(10).join(told))}" if told else ""

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something behind; it ends with this."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _folder(self, line: OpenChannel, chat_key: ChatKey) -> Path:
        """Where a chat's conversations work: one folder for each chat, so that its files stay at hand."""
        if line.settings.workspace:
            folder = Path(line.settings.workspace).expanduser()
        else:
            work = work_folder(self.services.home)
            work.mkdir(mode=0o700, exist_ok=True)
            folder = work / _own_folder(chat_key.address)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    async def _have_folder(self, session: Session, line: OpenChannel) -> None:
        """Make a chat's own folder where it is missing, since the chat was another machine's before; the model is told.
        A folder that somebody has set is theirs to make.
        """
        folder, sandbox = Path(session.workspace), self.services.config.sandbox
        here = on_this_machine(kept(sandbox, session.sandbox, session.preset))
        if line.settings.workspace or session.unspoken or not here or exists(folder):
            return
        reached = await self.services.doors.of_conversation(OWNER, session.conversation)
        if any(folder.parts[-2:] == _own_folder(one.address).parts for one in reached):
            await session.record(e.SystemSaid(_FOLDER_ELSEWHERE))
            with suppress(OSError):  # what comes next says why it cannot be used
                folder.mkdir(mode=0o700, parents=True)


def _own_folder(address: e.Address) -> Path:
    """A chat's own folder, within the one for all of them."""
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in address.chat)
    return Path(address.door) / (safe or "chat")


def _model_key(conversation: ConversationId) -> str:
    return f"model:{conversation}"
