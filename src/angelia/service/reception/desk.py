"""The conversations of the chats: which one a chat is in, open while it is used."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.errors import AngeliaError
from angelia.core.ids import ConversationId
from angelia.engine.state import Turn, advance
from angelia.sandboxes.workspace import work_folder
from angelia.service.assemble import House
from angelia.service.choice import choose
from angelia.service.line import Line, wait
from angelia.service.posting.office import Office
from angelia.service.reception.people import Spot
from angelia.service.reception.questions import asked_in_chat, question_id
from angelia.service.reception.watching import ChatWatch
from angelia.service.sessions import Session

MOST_OPEN = 2000
"""Conversations at rest that stay open: some 40 kB each."""
UNUSED_MS = 86_400_000
"""How long one stays open that nobody uses, such as one that was left by `/new`; it is opened again when it is."""
_AFTER_A_FAULT_S = 5.0

logger = logging.getLogger("angelia.reception")


class _Open(Struct):
    """A conversation that is held open, and when it was last asked for."""

    session: Session
    watch: ChatWatch
    used: int


class Desk:
    """Every conversation that chats have open in this process."""

    def __init__(self, house: House, office: Office) -> None:
        self.house, self._office = house, office
        self._open: OrderedDict[ConversationId, _Open] = OrderedDict()
        self._worked: dict[ConversationId, asyncio.Task[None]] = {}
        self._leaving: dict[ConversationId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()
        self._employing: WeakValueDictionary[ConversationId, asyncio.Lock] = WeakValueDictionary()

    async def at(self, spot: Spot) -> Session | None:
        """The conversation of a spot, or None before its first."""
        conversation = await self.house.doors.conversation(spot.address, spot.person)
        return await self.session(conversation) if conversation else None

    def begin(self, line: Line, spot: Spot, owner: str, sandbox: str = "") -> Session:
        """A new conversation for a spot; it is in the store from its first entry on, and bound by `DoorMoved` alone.

        Raises:
            ConfigError: there is no such preset of a sandbox.
        """
        chat = line.settings.chats.get(spot.address.chat)
        preset = sandbox or (chat.sandbox if chat else "") or next(iter(line.settings.sandbox), "")
        session = self.house.begin(
            door=spot.address.door, workspace=self._folder(line, spot), sandbox=preset, owner=owner
        )
        self._keep(session)
        return session

    async def session(self, conversation: ConversationId) -> Session:
        """A stored conversation, open.

        Raises:
            NotFound: it was erased.
            CodecError: an entry cannot be read by this version.
        """
        async with self._opening:
            if conversation not in self._open:
                if leaving := self._leaving.get(conversation):
                    await asyncio.wait([leaving])  # its place is not to be taken from under its successor
                session = await self.house.resume(conversation, door="gateway")
                self._keep(session)
                self._ask_again(session)
        found = self._open[conversation]
        found.used = self.house.clock()
        self._open.move_to_end(conversation)
        return found.session

    async def work(self, session: Session, line: Line) -> None:
        """Drive a conversation from now on, with the model of its own, its chat's or its channel's.

        Raises:
            ConfigError, SandboxError: it cannot be driven as configured; says how to mend it.
        """
        async with self._employing.setdefault(session.conversation, asyncio.Lock()):
            if session.conversation not in self._worked:
                await self._employ(session, line, await self.model_of(session, line))

    async def change_model(self, session: Session, line: Line, spec: str) -> None:
        """Use another model from the next request on, in later lives too.

        Raises:
            ConfigError: it cannot be used as configured; nothing was changed.
        """
        async with self._employing.setdefault(session.conversation, asyncio.Lock()):
            await self._employ(session, line, spec)
        await self.house.remembered.put(_model_key(session.conversation), spec)

    async def model_of(self, session: Session, line: Line) -> str:
        """The model of a conversation."""
        chosen = await self.house.remembered.get(_model_key(session.conversation))
        reached = await self.house.doors.of_conversation(session.conversation)
        own = line.settings.chats
        chats = [own[one.address.chat].model for one in reached if one.address.chat in own]
        named = chosen or next((model for model in chats if model), "") or next(iter(line.settings.model), "")
        if named:
            return named
        house = self.house
        return (await choose(house.loaded.config.model, house.seating, house.remembered, None)).spec

    def ask(self, session: Session) -> None:
        """Put the open questions of a conversation to its chat, each once."""
        self._spawn(self._ask(session))

    async def rouse(self, line: Line) -> int:
        """Go on with every turn of a channel that an earlier life left open; returns how many there were."""
        found = 0
        for reached in await self.house.doors.of_door(line.channel.door):
            try:
                turn = advance(Turn(), await self.house.transcript.entries(reached.conversation))
                if turn.opened or turn.unread:
                    found += 1
                    await self.work(await self.session(reached.conversation), line)
            except AngeliaError as error:
                logger.warning("conversation %s cannot be gone on with: %s", reached.conversation, error)
        return found

    async def remember_owner(self, address: e.Address) -> None:
        """Where the owner last wrote to us in private through a door: questions of ours go there."""
        where = f"{address.chat}\n{address.thread}"
        if await self.house.remembered.get(_owner_key(address.door)) != where:
            await self.house.remembered.put(_owner_key(address.door), where)

    async def owners_chat(self, door: str) -> tuple[Session, e.Address] | None:
        """The owner's own chat of a door and the conversation there; None before they wrote."""
        chat, _, thread = (await self.house.remembered.get(_owner_key(door))).partition("\n")
        address = e.Address(door, chat, thread)
        session = await self.at(Spot(address)) if chat else None
        return (session, address) if session else None

    async def close(self) -> None:
        """Stop every conversation; open turns stay open in the log."""
        for task in (*self._worked.values(), *self._tasks):
            task.cancel()
        for conversation in tuple(self._open):
            await self._let_go(self._open.pop(conversation))

    async def _employ(self, session: Session, line: Line, spec: str) -> None:
        await self.house.employ(session, spec, approver_present=True)
        if session.conversation not in self._worked:
            self._worked[session.conversation] = self._spawn(self._stand_by(session, line))

    # -- keeping ----------------------------------------------------------------------------------------------------

    def _keep(self, session: Session) -> None:
        """Hold one open, and let those go that are not needed open any more."""
        for conversation in self._unneeded():
            self._leaving[conversation] = self._spawn(self._let_go(self._open.pop(conversation)))
        watch = ChatWatch(session, self._office, self.ask)
        self._open[session.conversation] = _Open(session, watch, self.house.clock())

    def _unneeded(self) -> list[ConversationId]:
        """Those at rest that nobody used for a day, and of the others as many as are too many, longest unused first."""
        found: list[ConversationId] = []
        for conversation, one in self._open.items():
            if one.used > self.house.clock() - UNUSED_MS and len(self._open) - len(found) < MOST_OPEN:
                break
            if one.session.at_rest:
                found.append(conversation)
        return found

    async def _let_go(self, one: _Open) -> None:
        conversation = one.session.conversation
        if task := self._worked.pop(conversation, None):
            task.cancel()
        one.watch.end()
        try:
            await self.house.leave(one.session)
        finally:
            self._leaving.pop(conversation, None)

    async def _stand_by(self, session: Session, line: Line) -> None:
        """If driving fails, such as on a full disk, it is taken up again: nobody is left without an ending."""
        try:
            await session.driven()
        except AngeliaError as error:
            logger.warning("conversation %s stopped, and is taken up again: %s", session.conversation, error)
        while True:
            await wait(None, _AFTER_A_FAULT_S)
            try:
                await session.log.refresh()
                await self.house.employ(session, await self.model_of(session, line), approver_present=True)
                await session.driven()
            except AngeliaError as error:
                logger.warning("conversation %s cannot go on yet: %s", session.conversation, error)

    def _ask_again(self, session: Session) -> None:
        if session.questions():
            self.ask(session)

    async def _ask(self, session: Session) -> None:
        opened = session.turn.opened
        said = session.log.entries[opened - 1].fact if opened else None
        if not isinstance(said, e.UserSaid) or not self._office.has(said.address.door):
            return
        entries = session.log.entries
        known = {entry.fact.id for entry in entries if isinstance(entry.fact, e.DeliveryQueued)}
        for asked in session.questions():
            if question_id(session.conversation, asked.call) not in known:
                await session.record(asked_in_chat(session.conversation, said.address, asked))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _folder(self, line: Line, spot: Spot) -> Path:
        """Where a chat's conversations work: one folder for each chat, so that its files stay at hand."""
        if line.settings.workspace:
            folder = Path(line.settings.workspace).expanduser()
        else:
            safe = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in spot.address.chat)
            work = work_folder(self.house.loaded.home)
            work.mkdir(mode=0o700, exist_ok=True)
            folder = work / spot.address.door / (safe or "chat")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def _owner_key(door: str) -> str:
    return f"owner-chat:{door}"


def _model_key(conversation: ConversationId) -> str:
    return f"model:{conversation}"
