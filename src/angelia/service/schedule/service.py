"""What people and models do with schedules: add, list, pause, resume, end; each is a fact in the schedule's own log."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.counts import counted
from angelia.core.days import DAY_MS
from angelia.core.errors import BadInput
from angelia.core.ids import Clock, ConversationId, delivery_id, new_conversation, short
from angelia.core.principal import OWNER, Principal
from angelia.core.text import clean, one_line
from angelia.core.timing import FromOutside, OneTime, Watched
from angelia.service.audit import Audit
from angelia.service.chats.owner_chat import owner_chat
from angelia.service.conversation.session import Session
from angelia.service.schedule.occurrences import following, upcoming
from angelia.service.schedule.wake import clock_runs, wake_clock
from angelia.service.schedule.when import FORMS, in_short, read_when, shown, told
from angelia.service.schedule.zone import known_zone, local_zone
from angelia.service.settings.config import Config
from angelia.service.settings.rules import SCHEDULE
from angelia.store.log.transcript import Transcript
from angelia.store.tables.chat_bindings import ChatBindings
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.schedules import UNREADABLE, Schedules, StoredSchedule, note_key

if TYPE_CHECKING:
    from angelia.service.schedule.watching import Watching

MOST = 1000
"""Schedules that one person may have."""
LONGEST_TEXT = 8_000
_LONGEST_WHEN = 9
"""Words of a time, at most."""
_SHOWN_DONE_MS = 7 * DAY_MS
"""How long one whose only time has come is listed."""
DONE = "done"
WHEN_IT_COMES = "when it comes"
NO_CLOCK = "Nothing keeps time now, so that nothing begins: start `angelia gateway` or `angelia clock`."


class ScheduleWish(Struct, frozen=True):
    """What is to be scheduled, in the words of whoever wants it. `opened` is where the turns work and whose they are;
    `here` is where it is asked for, `conversation` the one in which it is, if it is in one. `watch` is what has to have
    changed, with the yes to looking at it; None where the time alone counts.
    """

    when: str
    text: str
    by: Principal
    opened: e.ConversationOpened
    here: e.Address
    to: str = ""
    late: e.Late = e.Late.RUN
    zone: str = ""
    conversation: ConversationId = ConversationId("")
    model: str = ""
    watch: Watched | None = None


class ZonedNow(NamedTuple):
    """A moment (Unix milliseconds), and the zone in which people mean times."""

    zone: str
    at: int


class ScheduleService(Struct, frozen=True):
    """The schedules of a home. `begins_on` sees to it that a schedule can begin on what is outside, and that what is
    there already is no news for it.
    """

    home: Path
    transcript: Transcript
    schedules: Schedules
    key_value: KeyValue
    doors: ChatBindings
    config: Config
    clock: Clock
    watching: Callable[[], "Watching"]
    begins_on: Callable[[ConversationId, FromOutside], Awaitable[None]]
    audit: Audit

    async def add(self, wish: ScheduleWish, id: ConversationId | None = None) -> str:  # noqa: A002 - an id is what it is
        """Store it, and say what was understood. With an `id` that is there already nothing is added.

        Raises:
            BadInput: the time, the zone or the address means nothing; or it is one too many.
            NeedsYes: looking at what it is to watch asks, and nobody has said yes to that question.
            AngeliaError: what it is to watch, or to begin on, cannot be looked at.
        """
        text = clean(wish.text).strip()
        if not text or len(text) > LONGEST_TEXT:
            raise BadInput(
                f"The text of a schedule has 1 to {LONGEST_TEXT:,} characters; this one has {len(text):,}.",
                then="Say what is to be done then.",
            )
        zone, now = self.now_in(wish.zone)
        when = read_when(wish.when, zone, now)
        if isinstance(when, FromOutside) and wish.watch:
            raise BadInput("It begins when something has come or changed; nothing is looked at before.")
        address = await self._address(wish)
        if len(await self.schedules.visible(wish.by)) >= MOST:
            raise BadInput(f"There are {MOST} schedules already.", then="`angelia schedule remove ID` ends one.")
        into = wish.conversation if isinstance(when, OneTime) and address == wish.here else ConversationId("")
        name = id or new_conversation(self.clock)
        if isinstance(when, FromOutside) and not await self._is_there(name):
            await self.begins_on(name, when)
        watch = await self._looked_at(name, wish)
        said = e.Scheduled(when, zone, text, now, address, wish.by, wish.late, into, wish.model, watch)
        facts: list[e.AnyFact] = [wish.opened, said]
        where = "It is told here, in this conversation." if into else _where(address)
        words = f"Scheduled {short(name)}: {told(when, zone, now)}. {where}"
        if watch:
            words += f" A turn begins only if this has changed since it was last dealt with: {_watched(watch)}."
        if address.chat and address != wish.here:  # it is tried now, not when it matters
            notice = (Text(f"From now on here, {told(when, zone, now)}: {one_line(text, 200)}"),)
            facts.append(e.DeliveryQueued(delivery_id(name, "tried"), address, notice, "notice"))
            words += " It gets a message about this now; `angelia schedule show` says whether it arrived."
        if not await self._is_there(name):
            about = f"{short(name)}, {in_short(when, zone)}, at {wish.here.door}"
            await self.audit.record(e.AdminAct.SCHEDULED, wish.by, about)
            await self.transcript.append(name, facts)
            wake_clock(self.home)
        return words if clock_runs(self.home) else f"{words} {NO_CLOCK}"

    def now_in(self, zone: str = "") -> ZonedNow:
        """Now, in the zone that is given, or set, or this machine's.

        Raises:
            BadInput: there is no such zone.
        """
        return ZonedNow(known_zone(zone or self.config.schedule.zone or local_zone()), self.clock())

    async def lines(self, viewer: Principal) -> list[tuple[str, ...]]:
        """A row for each schedule: id, when, next, where it is told, text; one that is done is listed for a week."""
        rows: list[tuple[str, ...]] = []
        for one in await self.schedules.visible(viewer):
            said = one.scheduled
            if one.upto < self.clock() - _SHOWN_DONE_MS and self.next_of(one) == DONE:
                continue
            text = one_line(said.text, 60)
            when = in_short(said.when, said.zone) + (f", if changed: {_watched(said.watch)}" if said.watch else "")
            rows.append((short(one.id), when, self.next_of(one), _short(said.address), text))
        return rows

    def next_of(self, schedule: StoredSchedule, tell: Callable[[int, str], str] = shown) -> str:
        """When it is due next, as `tell` has it of an instant and a zone, or why it is not."""
        if schedule.state is not e.ScheduleState.ACTIVE:
            return f"{schedule.state}: {schedule.why}" if schedule.why else str(schedule.state)
        said = schedule.scheduled
        if isinstance(said.when, FromOutside):
            return WHEN_IT_COMES
        due = following(said.when, said.zone, said.since, schedule.upto)
        coming = tell(due, said.zone) if due else DONE
        if schedule.was_ahead(self.clock()) and following(said.when, said.zone, said.since, self.clock()):
            mend = f"`angelia schedule resume {short(schedule.id)}` goes on from now"
            return f"{coming}, since a clock was ahead; {mend}"
        if due and schedule.made_ahead(self.clock()):
            return f"{coming}, since it was made while a clock was ahead; remove it, and make it anew"
        return coming

    async def pause(self, schedule: StoredSchedule, by: Principal) -> str:
        """Begin nothing more until `resume`.

        Raises:
            BadInput: it is not going on.
        """
        self._must_be(schedule, e.ScheduleState.ACTIVE)
        await self._append(schedule, e.ScheduleChanged(e.ScheduleState.PAUSED, by, f"by {by}"))
        return f"Paused {short(schedule.id)}. To go on: angelia schedule resume {short(schedule.id)}"

    async def resume(self, schedule: StoredSchedule, by: Principal) -> str:
        """Go on; what would have been due meanwhile is noted as missed. What a clock that was ahead dealt with before
        its time comes again.

        Raises:
            BadInput: it is not paused, nor does it wait for such a clock's time; or it cannot be read.
        """
        if schedule.made_ahead(self.clock()):
            raise BadInput(
                f"The schedule {short(schedule.id)} was made while a clock was ahead.",
                "Its times count from then.",
                "Remove it, and make it anew.",
            )
        if schedule.scheduled is UNREADABLE:
            then = f"`angelia schedule remove {short(schedule.id)}` ends it; add it anew."
            raise BadInput(f"The schedule {short(schedule.id)} cannot go on.", schedule.why, then)
        if not schedule.was_ahead(self.clock()):
            self._must_be(schedule, e.ScheduleState.PAUSED)
        said, now = schedule.scheduled, self.clock()
        count, first, last = 0, 0, 0
        for at in takewhile(lambda at: at <= now, upcoming(said.when, said.zone, said.since, schedule.upto)):
            count, first, last = count + 1, first or at, at
        missed = [e.OccurrencesMissed(first, last, count, "it was paused")] if count else []
        await self._append(schedule, *missed, e.ScheduleChanged(e.ScheduleState.ACTIVE, by))
        again = f" {counted(count, 'time')} missed meanwhile." if count else ""
        due = following(said.when, said.zone, said.since, now)
        coming = WHEN_IT_COMES if isinstance(said.when, FromOutside) else "never"
        return f"Goes on: {short(schedule.id)}, next {shown(due, said.zone) if due else coming}.{again}"

    async def remove(self, schedule: StoredSchedule, by: Principal) -> str:
        """End it for good; its log and its turns stay.

        Raises:
            BadInput: it has ended already.
        """
        if schedule.state is e.ScheduleState.ENDED:
            raise BadInput(f"The schedule {short(schedule.id)} has ended already.")
        await self._append(schedule, e.ScheduleChanged(e.ScheduleState.ENDED, by, f"by {by}"))
        await self.key_value.forget(note_key(schedule.id))
        return f"Ended {short(schedule.id)}. Its history stays: angelia schedule history {short(schedule.id)}"

    async def _append(self, schedule: StoredSchedule, *facts: e.AnyFact) -> None:
        await self.transcript.append(schedule.id, facts)
        wake_clock(self.home)

    async def _looked_at(self, name: ConversationId, wish: ScheduleWish) -> Watched | None:
        """What it is to watch, as it is now: a look that fails is told when it is scheduled."""
        if wish.watch is None:
            return None
        seen = await self.watching().look(name, wish.opened, wish.watch)
        return replace(wish.watch, digest=seen.digest)

    async def _is_there(self, name: ConversationId) -> bool:
        return any(one.id == name for one in await self.schedules.visible(OWNER))

    def _must_be(self, schedule: StoredSchedule, state: e.ScheduleState) -> None:
        if schedule.state is not state:
            raise BadInput(f"The schedule {short(schedule.id)} is {schedule.state}, not {state}.")

    async def _address(self, wish: ScheduleWish) -> e.Address:
        """Where it is told, known to lead somewhere."""
        to = wish.to.strip()
        if not to or to == "here":
            return wish.here
        if wish.by != OWNER:
            raise BadInput("Only the owner has something told elsewhere.", then="Leave `to` empty: it is told here.")
        door, _, rest = to.partition(":")
        if door == "terminal":
            return e.Address("terminal")
        if door not in self.config.channels:
            raise BadInput(
                f"There is no channel {door!r}.", then="`angelia channels` lists them; `to` is one of these."
            )
        if not self.config.channels[door].get("enabled", True):
            raise BadInput(f"The channel {door} is disabled.", then=f"`angelia channels enable {door}`")
        if not rest:
            found = await owner_chat(self.key_value, door)
            if found is None:
                raise BadInput(f"You have not written through {door} yet.", then="Write there once, then schedule.")
            return found[0]
        known = {one.address for one in await self.doors.of_door(OWNER, door)}
        for address in known:
            if rest in (address.chat, f"{address.chat}:{address.thread}"):
                return address
        chats = ", ".join(sorted(f"{door}:{one.chat}" for one in known)[:10]) or "none yet"
        raise BadInput(f"Nobody has written in the chat {to}.", then=f"Known there: {chats}.")


def split_when(words: str, now: "ZonedNow") -> tuple[str, str]:
    """The time with which the words begin, as long as it can be read, and the rest.

    Raises:
        BadInput: they begin with none; says what can be said.
    """
    parts = words.split()
    for size in range(min(len(parts), _LONGEST_WHEN), 0, -1):
        with suppress(BadInput):
            read_when(" ".join(parts[:size]), now.zone, now.at)
            return " ".join(parts[:size]), " ".join(parts[size:])
    raise BadInput(f"“{one_line(words, 80)}” begins with no time that can be read.", then=FORMS)


def wish_in(session: Session, here: e.Address, when: str, text: str) -> ScheduleWish:
    """What the owner wants scheduled in a conversation: its turns work where that works."""
    opened = e.ConversationOpened(SCHEDULE, session.workspace, session.sandbox, session.owner, session.preset)
    inside = ConversationId("") if session.unspoken else session.conversation
    return ScheduleWish(when, text, OWNER, opened, here, conversation=inside)


def _watched(watch: Watched) -> str:
    return f"{watch.kind}: {one_line(watch.what, 80)}"


def _where(address: e.Address) -> str:
    if address.chat:
        return f"It is told in the chat {_short(address)}."
    return "What comes of it is kept for the terminal: `angelia schedule history` shows it."


def _short(address: e.Address) -> str:
    return ":".join(part for part in (address.door, address.chat, address.thread) if part)
