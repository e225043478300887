"""Screenshots that nobody was sent, pinned or named go after a day, and the log says so; all others stay."""

from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, MediaKind, Text, ToolCall
from angelia.core.ids import CallId, ConversationId, DeliveryId
from angelia.faces.words.transcript_lines import TranscriptLines
from angelia.service.app import App
from angelia.service.conversation.forks import fork_conversation
from angelia.service.settings.config import load
from angelia.store.sql.upkeep import rebuild, verify
from tests.store.leases import acquire

pytestmark = pytest.mark.anyio

HOUR = 3_600_000
Tells = Callable[[Media], list[e.AnyFact]]

KEEPING: dict[str, Tells] = {
    "it was sent": lambda one: [e.DeliveryQueued(DeliveryId("d1"), e.Address("terminal"), (one,), "c9")],
    "it was pinned by its digits": lambda one: [e.Pinned(f"Keep blob:{one.blob.sha256[:12]}")],
    "a person named it": lambda one: [e.UserSaid((Text("Keep site.example.webp for me"),))],
    "it was shown again": lambda one: [
        e.ModelSaid("m", (ToolCall(CallId("c9"), "look_again", "{}"),), e.StopReason.TOOL_CALLS),
        e.ToolFinished(CallId("c9"), CallStatus.OK, (one,)),
    ],
    "another tool showed it": lambda one: [e.ToolFinished(CallId("c8"), CallStatus.OK, (one,))],
}


class Day:
    """A home whose clock is set by hand, with a conversation in which a page was looked at."""

    def __init__(self, app: App, now: list[int]) -> None:
        self.app, self.now = app, now
        self.conversation = ConversationId("c")
        self.picture: Media

    async def begin(self) -> None:
        """One look, with a picture of its own."""
        await self.app.transcript.append(self.conversation, [e.ConversationOpened("terminal", "/garden")])
        self.picture = await self.look("red", "c1")

    async def look(self, colour: str, call: str) -> Media:
        """A screenshot is taken."""
        ref = await self.app.blobs.put(f"picture in {colour}".encode(), mime="image/webp")
        media = Media(ref, MediaKind.IMAGE, "site.example.webp", 40, 30)
        asked = ToolCall(CallId(call), "browser_look", '{"picture": true}')
        facts: list[e.AnyFact] = [
            e.UserSaid((Text("How does it look?"),)),
            e.ModelAsked("m", 1, ()),
            e.ModelSaid("m", (asked,), e.StopReason.TOOL_CALLS),
            e.ToolFinished(asked.id, CallStatus.OK, (Text("Shop · http://site.example/"), media)),
            e.ModelSaid("m", (Text("Red."),), e.StopReason.END),
            e.TurnClosed(end.Answered()),
        ]
        await self.app.transcript.append(self.conversation, facts)
        return media

    async def there(self, media: Media) -> bool:
        """Whether its bytes are stored."""
        return await self.app.blobs.has(media.blob)

    async def facts(self) -> list[e.BytesLetGo]:
        """What the log says of bytes that went."""
        entries = await self.app.transcript.entries(self.conversation)
        return [entry.fact for entry in entries if isinstance(entry.fact, e.BytesLetGo)]


async def opened(tmp_path: Path, settings: str = "") -> Day:
    now = [1_790_000_000_000]
    (tmp_path / "home").mkdir()
    (tmp_path / "home/config.toml").write_text(settings)
    day = Day(await App.open(load(tmp_path / "home", {}), {}, lambda: now[0]), now)
    await day.begin()
    return day


async def test_a_screenshot_goes_after_a_day_and_the_log_says_which(tmp_path: Path) -> None:
    day = await opened(tmp_path)
    day.now[0] += 23 * HOUR
    assert await day.app.screenshots.let_go(day.app.clock()) == 0
    later = await day.look("blue", "c2")
    day.now[0] += 2 * HOUR
    assert await day.app.screenshots.let_go(day.app.clock()) == 1
    assert [await day.there(day.picture), await day.there(later)] == [False, True]
    assert await day.app.screenshots.let_go(day.app.clock()) == 0, "once"
    (fact,) = await day.facts()
    (gone,) = fact.pictures
    assert (gone.sha256, gone.seq, gone.part, fact.hours) == (day.picture.blob.sha256, 5, 1, 24)
    (line,) = TranscriptLines().tell(e.Entry(99, 0, fact))
    assert "site.example.webp" in line.text
    assert "after 24 hours" in line.text
    assert await verify(day.app.db, day.app.blobs) == []
    assert await rebuild(day.app.db, day.app.blobs) == []
    assert await verify(day.app.db, day.app.blobs) == []
    day.now[0] += 24 * HOUR
    assert await day.app.screenshots.let_go(day.app.clock()) == 1
    await day.app.close()


@pytest.mark.parametrize("why", KEEPING)
async def test_what_anybody_may_want_stays(tmp_path: Path, why: str) -> None:
    day = await opened(tmp_path)
    await day.app.transcript.append(day.conversation, KEEPING[why](day.picture))
    day.now[0] += 48 * HOUR
    assert await day.app.screenshots.let_go(day.app.clock()) == 0
    assert await day.there(day.picture)
    assert await day.facts() == []
    await day.app.close()


async def test_none_goes_where_the_setting_says_never(tmp_path: Path) -> None:
    day = await opened(tmp_path, "[files]\nscreenshot_hours = 0\n")
    day.now[0] += 10_000 * HOUR
    assert await day.app.screenshots.let_go(day.app.clock()) == 0
    assert await day.there(day.picture)
    await day.app.close()


async def test_a_conversation_that_is_driven_waits(tmp_path: Path) -> None:
    day = await opened(tmp_path)
    day.now[0] += 25 * HOUR
    lease = await acquire(day.app.db, day.conversation, "the terminal")
    assert await day.app.screenshots.let_go(day.app.clock()) == 0
    assert await day.there(day.picture)
    await lease.release()
    assert await day.app.screenshots.let_go(day.app.clock()) == 1
    await day.app.close()


async def test_a_picture_that_was_taken_again_goes_with_the_last_time(tmp_path: Path) -> None:
    day = await opened(tmp_path)
    day.now[0] += 23 * HOUR
    again = await day.look("red", "c2")
    assert again.blob == day.picture.blob
    day.now[0] += 2 * HOUR
    assert await day.app.screenshots.let_go(day.app.clock()) == 0
    day.now[0] += 23 * HOUR
    assert await day.app.screenshots.let_go(day.app.clock()) == 1
    await day.look("red", "c3")
    assert await day.there(day.picture), "and it may be taken after that"
    assert await verify(day.app.db, day.app.blobs) == []
    day.now[0] += 25 * HOUR
    assert await day.app.screenshots.let_go(day.app.clock()) == 1
    await day.app.close()


@pytest.mark.parametrize("upto", [6, 0], ids=["before they went", "the whole"])
async def test_a_fork_has_no_bytes_that_went(tmp_path: Path, upto: int) -> None:
    day = await opened(tmp_path)
    day.now[0] += 25 * HOUR
    await day.app.screenshots.let_go(day.app.clock())
    made = await fork_conversation(day.app.transcript, day.conversation, upto, lambda: day.now[0])
    last = (await day.app.transcript.entries(made))[-1].fact
    assert isinstance(last, e.BytesLetGo)
    assert await verify(day.app.db, day.app.blobs) == []
    assert await rebuild(day.app.db, day.app.blobs) == []
    assert await verify(day.app.db, day.app.blobs) == []
    await day.app.close()


async def test_a_forks_own_past_keeps_the_bytes_until_it_lets_go_too(tmp_path: Path) -> None:
    day = await opened(tmp_path)
    made = await fork_conversation(day.app.transcript, day.conversation, 6, lambda: day.now[0])
    keep = [e.Pinned(f"blob:{day.picture.blob.sha256[:12]}")]
    await day.app.transcript.append(made, keep)
    day.now[0] += 25 * HOUR
    assert await day.app.screenshots.let_go(day.app.clock()) == 0
    assert len(await day.facts()) == 1
    assert await day.there(day.picture)
    assert await verify(day.app.db, day.app.blobs) == []
    await day.app.close()
