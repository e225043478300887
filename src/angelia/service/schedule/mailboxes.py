"""Each mail that comes into a mailbox begins one turn of each schedule on it, once.

How far a schedule has come is noted after the turn is committed, and the turn's key holds the mail's number (UID) and
what that is valid for (UIDVALIDITY): killed between, the same mail is committed again, and absorbed. The mails lie at
the server until they are taken in, so that nothing has to be kept here: what comes while nothing runs, while a schedule
is paused or over its cap, begins its turn later.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email import message_from_bytes
from email.utils import getaddresses

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import end_if_cancelled
from angelia.core import entry as e
from angelia.core.errors import AngeliaError, CodecError, ConfigError, NotFound, StoreDamaged
from angelia.core.ids import ConversationId
from angelia.core.principal import MAIL, Principal
from angelia.core.text import one_line
from angelia.core.timing import OnMail
from angelia.service.chats.open_channel import wait
from angelia.service.schedule.clockwork import LONGEST_SLEEP_S
from angelia.service.schedule.imap import IDLE_S, Imap, MailAbout, MailboxRefused, Selected
from angelia.service.schedule.mail_parts import mail_parts
from angelia.service.schedule.outside import Brought, OutsideServices, begin, tell, too_much
from angelia.service.settings.config import MailboxSettings
from angelia.store.tables.schedules import StoredSchedule, note_key

LOST_MS = 15 * 60_000
"""How long a mailbox may be out of reach before it is told."""
LONGEST_PAUSE_S = 300.0
"""Between two tries to reach it."""

logger = logging.getLogger("angelia.schedule")


class MailPosition(Struct, frozen=True):
    """Every mail up to the number `uid` has begun its turn, or is one of so many of `others` than the senders that
    count. Numbers hold for one `validity`. `arrived` is the time of the last one, Unix milliseconds by the server's
    clock: where numbers hold no more it says which mails are new.
    """

    validity: int
    uid: int
    arrived: int
    others: int = 0


class Mailboxes:
    """Follows the mailboxes of the settings while time is kept here."""

    def __init__(self, services: OutsideServices) -> None:
        self._services = services
        self._lost: dict[str, int] = {}
        self._told: set[str] = set()
        self._waiting: set[ConversationId] = set()

    async def mark(self, schedule: ConversationId, name: str) -> None:
        """What is there now is no news for a schedule that is being made.

        Raises:
            ConfigError, MailboxLost: it cannot be reached as it is set up.
        """
        async with self._open(name) as (_, selected):
            await self._put(schedule, MailPosition(selected.validity, selected.next_uid - 1, self._services.clock()))

    async def follow(self, name: str, woken: asyncio.Event) -> None:
        """Until cancelled; `woken` says that schedules may have changed."""
        pause = 1.0
        while True:
            woken.clear()
            if not await self._wanted(name):
                await wait(woken, LONGEST_SLEEP_S)
                continue
            try:
                async with self._open(name) as (imap, selected):
                    await self.within_reach(name)
                    pause = 1.0
                    while await self._wanted(name):
                        woken.clear()
                        held = await self.take(name, imap, selected)
                        await imap.wait_for_mail(woken, LONGEST_SLEEP_S if held else IDLE_S)
            except AngeliaError as error:
                end_if_cancelled()
                await self.out_of_reach(name, error)
                await wait(None, pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)

    async def take(self, name: str, imap: Imap, selected: Selected) -> bool:
        """Begin the turns of all new mails; returns whether some have to wait.

        Raises:
            MailboxLost: the connection is.
            AngeliaError: what came cannot be stored now.
        """
        held = []
        for schedule in await self._wanted(name):
            try:
                held.append(await self._take_for(schedule, name, imap, selected))
            except NotFound:  # it was deleted meanwhile
                await self._services.key_value.forget(note_key(schedule.id))
            except (StoreDamaged, CodecError):  # it is paused; the others begin
                continue
        return any(held)

    async def _take_for(self, schedule: StoredSchedule, name: str, imap: Imap, selected: Selected) -> bool:
        """Where the old numbers hold no more the time says what is new; the note moves once all of it has begun."""
        before = position = await self._position(schedule)
        same = position.validity == selected.validity
        if same:
            uids = await imap.uids_after(position.uid)
        else:
            uids = await imap.uids_since(datetime.fromtimestamp(position.arrived / 1000, UTC))
            logger.warning("the mails in %s are numbered anew by the server; %d came since", name, len(uids))
        for uid in uids:
            about = await imap.about(uid)
            counts = about is not None and self._counts(name, about)
            if counts and await self._has_to_wait(schedule, name):
                if same:
                    await self._put(schedule.id, position)
                return True
            arrived = max(position.arrived, int(about.arrived.timestamp() * 1000)) if about else position.arrived
            others = position.others + (about is not None and not counts)
            position = MailPosition(selected.validity, uid, arrived, others)
            if about and counts:
                await self._begin(schedule, name, imap, selected, about)
                if same:
                    await self._put(schedule.id, position)
        if not same:
            position = replace(position, validity=selected.validity, uid=max([selected.next_uid - 1, *uids]))
        if position != before:
            await self._put(schedule.id, position)
        if passed := position.others - before.others:
            logger.warning("mails in %s that are not from its senders and begin nothing: %d", name, passed)
        self._waiting.discard(schedule.id)
        return False

    def _counts(self, name: str, about: MailAbout) -> bool:
        sender = sender_of(about.sender)
        return any(
            one == "*" or (bool(sender) and one.lower() in (sender, f"@{sender.rpartition('@')[2]}"))
            for one in self._services.mailboxes[name].senders
        )

    async def _has_to_wait(self, schedule: StoredSchedule, name: str) -> bool:
        why = await too_much(self._services, schedule)
        if why and schedule.id not in self._waiting:
            self._waiting.add(schedule.id)
            await tell(self._services, schedule, f"Mails in {name} wait. {why}")
        return bool(why)

    async def _begin(
        self, schedule: StoredSchedule, name: str, imap: Imap, selected: Selected, about: MailAbout
    ) -> None:
        mail = await imap.fetch(about)
        if mail is None:  # it was deleted meanwhile
            return
        parts = await mail_parts(self._services, name, mail)
        key = f"{name}:{selected.validity}:{about.uid}"
        await begin(self._services, schedule, Brought(f"A mail came into {name}", key, Principal(MAIL, name), parts))

    # -- the connection -----------------------------------------------------------------------------------------------

    async def password(self, name: str) -> str:
        """What it is read with.

        Raises:
            ConfigError: it is not there; says where to put it.
        """
        settings = self._services.mailboxes[name]
        found = await self._services.tokens.find(f"mailbox {name}", settings.password)
        if not found:
            why = f"The variable {settings.password.env} is not set." if settings.password.env else ""
            then = f"Set mailboxes.{name}.password."
            raise ConfigError(f"The password of the mailbox {name} is not there.", why, then)
        return found

    async def reach(self, name: str) -> None:
        """Open it, and let go of it.

        Raises:
            ConfigError, MailboxLost: it cannot be reached as it is set up.
        """
        async with self._open(name):
            return

    @asynccontextmanager
    async def _open(self, name: str) -> AsyncIterator[tuple[Imap, Selected]]:
        settings = self._services.mailboxes[name]
        _must_name_senders(name, settings)
        password = await self.password(name)
        imap = await Imap.open(settings, password)
        try:
            yield imap, await imap.examine(settings.folder)
        finally:
            await imap.close()

    async def out_of_reach(self, name: str, error: AngeliaError) -> None:
        """A connection is lost all the time; one that stays so, or that nobody mends by waiting, is told, once."""
        now = self._services.clock()
        since = self._lost.setdefault(name, now)
        logger.info("the mailbox %s is out of reach: %s", name, error)
        stays = abs(now - since) >= LOST_MS or isinstance(error, MailboxRefused | ConfigError)
        if stays and name not in self._told:
            self._told.add(name)
            why = one_line(str(error), 300)
            for schedule in await self._wanted(name):
                words = f"The mailbox {name} cannot be read: {why}"
                await tell(self._services, schedule, f"{words} What comes meanwhile begins its turn later.")

    async def within_reach(self, name: str) -> None:
        self._lost.pop(name, None)
        if name in self._told:
            self._told.discard(name)
            for schedule in await self._wanted(name):
                await tell(self._services, schedule, f"The mailbox {name} can be read again.")

    # -- what is known ------------------------------------------------------------------------------------------------

    async def _wanted(self, name: str) -> list[StoredSchedule]:
        return [
            one for one in await self._services.schedules.begun_by(OnMail(name)) if one.state is e.ScheduleState.ACTIVE
        ]

    async def others(self, schedule: StoredSchedule) -> int:
        """How many mails came that are not from the mailbox's senders and began nothing."""
        return (await self._position(schedule)).others

    async def _position(self, schedule: StoredSchedule) -> MailPosition:
        """Where it stands; one whose note is gone takes what has come since it was made."""
        noted = await self._services.key_value.get_as(MailPosition, note_key(schedule.id))
        return noted or MailPosition(0, 0, schedule.scheduled.since)

    async def _put(self, schedule: ConversationId, position: MailPosition) -> None:
        await self._services.key_value.put(note_key(schedule), msgspec.json.encode(position).decode())


def sender_of(header: bytes) -> str:
    r"""The one address in a header `From`, in small letters; empty where there are several headers, several or none.

    >>> sender_of(b"From: =?utf-8?q?=40paypal=2Ecom?= <Ann@Example.org>\r\n\r\n")
    'ann@example.org'
    """
    found = message_from_bytes(header).get_all("From", [])
    addresses = getaddresses([str(one) for one in found])
    return addresses[0][1].lower() if len(found) == 1 and len(addresses) == 1 else ""


def _must_name_senders(name: str, settings: MailboxSettings) -> None:
    wrong = [one for one in settings.senders if one != "*" and "@" not in one]
    if wrong or not settings.senders:
        raise ConfigError(
            f"The mailbox {name} names no sender whose mails count." if not wrong else f"{wrong[0]!r} names no sender.",
            "Anybody can write to a mailbox, and each mail that counts is a turn that is paid for.",
            f"""Name them: mailboxes.{name}.senders = ["ann@example.org", "@example.org"], or ["*"] for anybody.""",
        )
