"""Somebody unknown: a code that the owner confirms, told once and in private; in a group, nothing at all.

However many write, the owner is asked about all of them in one message, and at most so often; and only so many are
given a code within an hour. What they call themselves is their own claim: it is shown cut, on one line, and as a claim.

| within an hour, through one door | |
|---|---|
| the first `MOST_ASKING` (`store.tables.pairings`) | each a code, and a line in the owner's question |
| everybody else | nothing; how many there were is told to the owner |
"""

import logging
from collections import Counter

from angelia.channels.failures import ChannelError
from angelia.channels.incoming import Envelope, IncomingMessage
from angelia.channels.outgoing import OutText
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.counts import counted
from angelia.core.errors import AngeliaError
from angelia.core.ids import DeliveryId
from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER, Principal
from angelia.core.text import fenced
from angelia.core.unambiguous import claimed
from angelia.service.chats.open_channel import OpenChannel, wait
from angelia.service.chats.people import principal_of
from angelia.service.chats.questions import QUESTION, LetIn, value_of
from angelia.service.chats.sessions import ChatSessions
from angelia.service.people.admission import may_do
from angelia.store.tables.pairings import NoCode, Paired

GATHERED_MS = 2_000
"""How long the first is waited with for others."""
BETWEEN_MS = 600_000
"""The least time between two questions to the owner about strangers of one door."""
_LISTED = 10
_BUTTONS = 3
"""Strangers who have a button of their own: as many as every network with buttons takes."""

logger = logging.getLogger("angelia.chats")


class Strangers:
    """Everybody unknown who writes through the channels of this process. What is counted is in the store."""

    def __init__(self, chat_sessions: ChatSessions) -> None:
        self._chat_sessions, self._pairings = chat_sessions, chat_sessions.services.admission.pairings
        self._codes: dict[Principal, str] = {}
        self._over: Counter[str] = Counter()
        self._gathering: set[str] = set()

    async def meet(self, line: OpenChannel, envelope: Envelope) -> None:
        """Give a stranger a code, if they have none that is good. Nothing they sent is fetched or kept.

        A stranger has no conversation, so the code goes out without a receipt: whoever does not get it writes again.
        """
        if not envelope.private or not isinstance(envelope.what, IncomingMessage):
            return
        who = principal_of(envelope)
        code = await self._pairings.ask(who, envelope.sender.name)
        if code is NoCode.TOO_MANY:
            self._over[who.door] += 1
            logger.info("%s: too many strangers within an hour, one more is given no code", who.door)
        if isinstance(code, NoCode):
            return
        words = (
            f"I do not know you yet. Your code is {code}; it is good for one hour. "
            f"Whoever runs me lets you in with: angelia pair approve {code}"
        )
        try:
            await line.channel.send(envelope.address, OutText(words), f"pair.{who.door}.{who.id}.{code}")
        except ChannelError as error:
            logger.info("a code could not be sent: %s", error)
            await self._pairings.unsent(who)
            return
        self._codes[who] = code
        self._gather(who.door)

    def remind(self, door: str) -> None:
        """Ask the owner about those whom an earlier life was about to ask about."""
        self._gather(door)

    def _gather(self, door: str) -> None:
        if door not in self._gathering:
            self._gathering.add(door)
            self._chat_sessions.spawn(self._put(door))

    async def _put(self, door: str) -> None:
        """Wait for others, then ask the owner about all of whom nobody has told them yet."""
        key_value, clock = self._chat_sessions.services.key_value, self._chat_sessions.services.clock
        try:
            told = told_by(int(await key_value.get(_told_key(door), "0")), clock())
            if await self._untold(door, told):
                await wait(None, pause_ms(told, clock()) / 1000)
        finally:
            self._gathering.discard(door)
        try:
            if found := await self._untold(door, told):
                await self._ask(door, found)
        except AngeliaError as error:
            logger.warning("%s: the owner could not be asked about strangers: %s", door, error)

    async def _untold(self, door: str, told: int) -> list[Paired]:
        return [
            one for one in await self._pairings.waiting(OWNER) if one.principal.door == door and one.asked_at > told
        ]

    async def _ask(self, door: str, found: list[Paired]) -> None:
        owner = await self._chat_sessions.owners_chat(door)
        if owner is None:
            return
        session, address = owner
        now = self._chat_sessions.services.clock()
        words = self._words(door, found)
        asked = e.DeliveryQueued(
            DeliveryId(f"{session.conversation}.p{door}.{now}"),
            address,
            (Text(words),),
            QUESTION,
            choices=_choices(found),
        )
        await session.record(asked)
        await self._chat_sessions.services.key_value.put(_told_key(door), str(max(one.asked_at for one in found)))

    def _words(self, door: str, found: list[Paired]) -> str:
        lines = [
            f"{number}. “{claimed(one.name)}”, {claimed(one.principal.id, 60)}, {self._code(one)}"
            for number, one in enumerate(found[:_LISTED], 1)
        ]
        over = self._over.pop(door, 0)
        more = len(found) - len(lines)
        lines += [f"and {more} more with a code; `angelia pair` lists them"] if more else []
        lines += [f"and {counted(over, 'more message')} from strangers, without a code"] if over else []
        many = f"{len(found)} people" if len(found) > 1 else "Somebody"
        asks = "ask" if len(found) > 1 else "asks"
        return (
            f"{many} I do not know {asks} to talk to me through {door}. The names are what they call themselves.\n\n"
            f"{fenced(chr(10).join(lines))}\n\n"
            f"{may_do(PersonRole.GUEST)} `angelia pair approve CODE --as member` lets in as more. "
            "Whoever you do not know needs no answer: a code is good for one hour."
        )

    def _code(self, one: Paired) -> str:
        code = self._codes.pop(one.principal, "")
        return f"code {code}" if code else "with a code"


def told_by(told: int, now: int) -> int:
    """The time of the last of whom the owner was told, 0 if it is still to come: the clock was set back meanwhile, and
    everybody who waits is told of again.

    >>> told_by(1_000, 2_000), told_by(9_000, 2_000)
    (1000, 0)
    """
    return told if told <= now else 0


def pause_ms(told: int, now: int) -> int:
    """How long others are waited for, if the last of whom the owner was told came at `told`; Unix milliseconds.

    >>> pause_ms(0, 1_000_000), pause_ms(1_000_000, 1_060_000)
    (2000, 540000)
    """
    return max(GATHERED_MS, told + BETWEEN_MS - now)


def _choices(found: list[Paired]) -> tuple[e.QuestionChoice, ...]:
    if len(found) == 1:
        let, no = (value_of(LetIn(found[0].principal, yes)) for yes in (True, False))
        return (e.QuestionChoice("Let them in", let), e.QuestionChoice("No", no))
    return tuple(
        e.QuestionChoice(f"Let in number {number}", value_of(LetIn(one.principal, True)))
        for number, one in enumerate(found[:_BUTTONS], 1)
    )


def _told_key(door: str) -> str:
    return f"strangers-told:{door}"
