"""Conversations go when the settings say so, told before and after; nothing goes that waits or is remembered."""

import asyncio
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.days import DAY_MS
from angelia.core.ending import Answered
from angelia.core.ids import CallId, ConversationId, DeliveryId
from angelia.core.principal import OWNER
from angelia.core.timing import Every
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.store.log.transcript import Transcript
from tests.faces.angelia import Place
from tests.store.leases import acquire

pytestmark = pytest.mark.anyio

RULES = "[retention]\ndays = 30\ndoors = { telegram = 7, web = 0 }\n"
BEGAN = 1_790_000_000_000


class Home:
    """A home by a clock that is set."""

    def __init__(self, home: Path, rules: str) -> None:
        home.mkdir()
        (home / "config.toml").write_text(rules)
        self.home, self.now = home, BEGAN

    async def open(self) -> App:
        return await App.open(load(self.home, {}, (), {}), {}, lambda: self.now)


def talk(*more: e.AnyFact, door: str = "terminal") -> list[e.AnyFact]:
    """A conversation with a turn, and what comes after it."""
    turn: list[e.AnyFact] = [
        e.ConversationOpened(door, "/work"),
        e.UserSaid((Text("hello"),)),
        e.ModelAsked("m", 1, heard=(2,)),
        e.ModelSaid("m", (Text("Yes."),), e.StopReason.END),
        e.TurnClosed(Answered()),
    ]
    return [*turn, *more]


QUEUED = e.DeliveryQueued(DeliveryId("d1"), e.Address("terminal"), (Text("Yes."),), "answer")
ASKED = e.ApprovalAsked(CallId("c1_0"), "May I?", "d")
NOTE = e.NoteProposed(1, e.NoteScope.PERSON, "", e.NoteKind.FACT, "eats no fish", OWNER)
WAITING: dict[str, tuple[list[e.AnyFact], str]] = {
    "a delivery": ([QUEUED], "something is to go out"),
    "a turn": ([e.UserSaid((Text("and?"),))], "a turn is open"),
    "a question": ([ASKED], "a question waits"),
    "a note": ([NOTE, e.NoteKept(1, OWNER)], "something is remembered"),
    "pinned words": ([e.Pinned("always")], "words are pinned"),
    "work": ([e.WorkStarted(CallId("c1_0"), e.WorkKind.PROCESS, "make", "life")], "work goes on"),
}


async def there(app: App) -> set[str]:
    """Which conversations there are."""
    return {one.id for one in await app.transcript.conversations(OWNER)}


async def test_what_is_over_goes_by_its_door_is_told_before_and_has_a_receipt(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", RULES)
    app = await home.open()
    for door in ("terminal", "telegram", "web"):
        await app.transcript.append(ConversationId(door), talk(door=door))
    home.now += 6 * DAY_MS
    assert [one.conversation for one in await app.retention.over()] == []
    assert [one.conversation for one in await app.retention.over(2 * DAY_MS)] == ["telegram"]
    await app.upkeep.tidy()
    assert await there(app) == {"terminal", "telegram", "web"}
    home.now += DAY_MS
    await app.upkeep.tidy()
    assert await there(app) == {"terminal", "telegram", "web"}, "the look before it was not over"
    home.now += DAY_MS
    await app.upkeep.tidy()
    assert await there(app) == {"terminal", "web"}
    for days in (100, 1):
        home.now += days * DAY_MS
        await app.upkeep.tidy()
    assert await there(app) == {"web"}
    assert [one.conversations for one in await app.retention.receipts()] == [("telegram",), ("terminal",)]
    assert "telegram (telegram) was erased by [retention]" in (home.home / "angelia.log").read_text()
    await app.close()


async def test_what_was_said_while_the_clock_was_behind_is_no_older_than_the_look_before(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", RULES)
    app = await home.open()
    await app.transcript.append(ConversationId("first"), talk())
    await app.upkeep.tidy()
    home.now -= 400 * DAY_MS  # a machine without a battery
    await app.transcript.append(ConversationId("late"), talk())
    for days in (1, 2, 20):
        home.now = BEGAN + days * DAY_MS
        await app.upkeep.tidy()
        assert "late" in await there(app)
    assert {one.conversation for one in await app.retention.over(11 * DAY_MS)} == {"first", "late"}
    for days in (32, 34):
        home.now = BEGAN + days * DAY_MS
        await app.upkeep.tidy()
    assert await there(app) == set()
    await app.close()


async def test_without_a_rule_nothing_ever_goes(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", "")
    app = await home.open()
    await app.transcript.append(ConversationId("old"), talk())
    home.now += 10_000 * DAY_MS
    await app.upkeep.tidy()
    assert await there(app) == {"old"}
    await app.close()


@pytest.mark.parametrize("what", WAITING)
async def test_nothing_goes_that_waits_or_is_remembered_and_why_is_said(tmp_path: Path, what: str) -> None:
    facts, why = WAITING[what]
    home = Home(tmp_path / "home", RULES)
    app = await home.open()
    await app.transcript.append(ConversationId("waits"), talk(*facts))
    await app.transcript.append(ConversationId("plain"), talk())
    home.now += 31 * DAY_MS
    stays = {str(one.conversation): one.stays for one in await app.retention.over()}
    assert (why in stays["waits"], stays["plain"]) == (True, "")
    assert await app.retention.erase_what_is_over(app.clock()) == ["plain"]
    assert await there(app) == {"waits"}
    await app.close()


async def test_what_is_said_between_the_look_and_the_erasing_is_not_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home", RULES)
    app = await home.open()
    await app.transcript.append(ConversationId("old"), talk())
    home.now += 31 * DAY_MS
    legible = Transcript.legible

    async def and_then_somebody_speaks(self: Transcript, conversation: ConversationId) -> object:
        found = await legible(self, conversation)
        await app.transcript.append(conversation, [e.UserSaid((Text("still there?"),))])
        return found

    monkeypatch.setattr(Transcript, "legible", and_then_somebody_speaks)
    assert await app.retention.erase_what_is_over(app.clock()) == []
    monkeypatch.undo()
    assert len(await app.transcript.entries(ConversationId("old"))) == 7
    await app.close()


async def test_what_somebody_works_in_or_a_schedule_goes_on_in_or_is_kept_stays(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", RULES)
    app = await home.open()
    for name in ("driven", "into", "kept", "plain"):
        await app.transcript.append(ConversationId(name), talk())
    when = Every(3600)
    scheduled = e.Scheduled(when, "UTC", "look", BEGAN, e.Address("terminal"), into=ConversationId("into"))
    await app.transcript.append(ConversationId("s"), [e.ConversationOpened("schedule", "/work"), scheduled])
    await app.retention.keep(ConversationId("kept"))
    lease = await acquire(app.db, ConversationId("driven"), "the terminal")
    home.now += 31 * DAY_MS
    assert await app.retention.erase_what_is_over(app.clock()) == ["plain"]
    assert await there(app) == {"driven", "into", "kept"}
    await lease.release()
    await app.retention.keep_no_longer(ConversationId("kept"))
    assert set(await app.retention.erase_what_is_over(app.clock())) == {"driven", "kept"}
    await app.close()


def test_the_command_line_says_what_goes_and_erases_it(tmp_path: Path) -> None:
    place = Place(tmp_path / "home", tmp_path / "work")
    place.work.mkdir()
    home = Home(place.home, RULES)

    async def begin() -> None:
        app = await home.open()
        await app.transcript.append(ConversationId("oldtalk"), talk())
        await app.close()

    home.now = 1_000_000_000_000
    asyncio.run(begin())
    assert "is over" in place.run("retention", "run", "--dry-run").out
    assert "stays: you said" in place.run("retention", "keep", "oldtalk").out + place.run("retention").out
    place.run("retention", "keep", "oldtalk", "--no-longer")
    assert "1 conversation is erased" in place.run("retention", "run").out
    assert "Nothing goes within 7 days." in place.run("retention").out
