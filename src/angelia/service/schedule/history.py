"""What became of a schedule's times, and all that is known of it, as rows for people."""

from msgspec.structs import replace

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.errors import NotFound
from angelia.core.ids import short
from angelia.core.principal import OWNER
from angelia.core.sentences import sentence
from angelia.core.text import one_line
from angelia.service.schedule.occurrences import upcoming
from angelia.service.schedule.service import ScheduleService
from angelia.service.schedule.when import shown, told
from angelia.store.log.transcript import Transcript
from angelia.store.tables.outbox import Outbox
from angelia.store.tables.schedules import MISSED, UNCHANGED, UNSEEN, Occurrence, StoredSchedule

HEAD = ("DUE", "CAME TO", "CONVERSATION", "WHAT")
_MOST_TOGETHER = 300
"""Occurrences at which nothing had changed that may stand in one row, as a rule."""


async def history_rows(service: ScheduleService, schedule: StoredSchedule, limit: int) -> list[tuple[str, ...]]:
    """A head and a row for each of the last occurrences, the newest first; nothing before the first."""
    rows = []
    for one in _together(await service.schedules.history(schedule.id, limit * _MOST_TOGETHER))[:limit]:
        due = shown(one.due, schedule.scheduled.zone)
        if one.count > 1:
            due = f"{due} – {shown(one.last, schedule.scheduled.zone)}"
        rows.append((due, *await _came_to(service.transcript, one)))
    return [HEAD, *rows] if rows else []


def _together(newest_first: list[Occurrence]) -> list[Occurrence]:
    """Those after each other at which nothing had changed are one row: there may be hundreds a day."""
    found: list[Occurrence] = []
    for one in newest_first:
        later = found[-1] if found else None
        if later and (one.ending, later.ending) == (UNCHANGED, UNCHANGED):
            found[-1] = replace(one, last=later.last, count=one.count + later.count)
        else:
            found.append(one)
    return found


async def _came_to(transcript: Transcript, one: Occurrence) -> tuple[str, str, str]:
    if one.ending == MISSED:
        return (f"missed ({one.count})" if one.count > 1 else "missed", "", one.why)
    if one.ending == UNCHANGED:
        return (f"unchanged ({one.count})" if one.count > 1 else "unchanged", "", "what is watched was as before")
    if one.ending == UNSEEN:
        return ("not seen", "", one.why)
    where = short(one.conversation)
    try:
        entries = await transcript.entries(one.conversation, one.seq)
    except NotFound:
        return (one.ending or "open", where, "its conversation was deleted")
    for at, entry in enumerate(entries):
        match entry.fact:
            case e.TurnClosed(ending=end.StayedSilent(why=why)):
                return ("silent", where, why)
            case e.TurnClosed(ending=ending):
                word = "told" if isinstance(ending, end.Answered) else "failed"
                return (word, where, _words(entries[at:]) or sentence(ending))
            case _:
                continue
    return ("open", where, "its turn is not over yet")


def _words(entries: list[e.Entry]) -> str:
    queued = next((entry.fact for entry in entries if isinstance(entry.fact, e.DeliveryQueued)), None)
    return one_line(" ".join(part.text for part in queued.parts if isinstance(part, Text)), 200) if queued else ""


async def described(service: ScheduleService, outbox: Outbox, schedule: StoredSchedule) -> list[tuple[str, str]]:
    """All that is known of a schedule."""
    said = schedule.scheduled
    first = await service.transcript.opening(schedule.id)
    times = upcoming(said.when, said.zone, said.since, schedule.upto)
    ahead = schedule.was_ahead(service.clock()) or schedule.made_ahead(service.clock())
    coming = [shown(at, said.zone) for at, _ in zip(times, range(3), strict=False)]
    rows = [
        ("id", schedule.id),
        ("when", told(said.when, said.zone, said.since, 0).rstrip(": ")),
        ("state", f"{schedule.state}: {schedule.why}" if schedule.why else str(schedule.state)),
        ("next", ", ".join(coming) if coming and not ahead else service.next_of(schedule)),
        *([("watches", f"{said.watch.kind}: {said.watch.what}")] if said.watch else []),
        ("what", said.text),
        ("told at", ":".join(part for part in (said.address.door, said.address.chat, said.address.thread) if part)),
        ("missed", "one turn for all" if said.late is e.Late.RUN else "not made up for"),
        ("goes on with", short(said.into) if said.into else "a conversation of its own each time"),
        ("works in", f"{first.workspace} ({first.preset or first.sandbox})"),
        ("model", said.model or "the usual one"),
        ("by", str(said.by)),
    ]
    receipts = await outbox.receipts(OWNER, schedule.id)
    return [*rows, *(("message", f"{receipt.status} {receipt.detail}".strip()) for receipt in receipts)]
