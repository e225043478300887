"""A clock that is ahead at one look, or behind at one, erases nothing before its time."""

from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, MediaKind, Text, ToolCall
from angelia.core.days import DAY_MS
from angelia.core.ids import CallId, ConversationId, wall_clock
from angelia.core.principal import OWNER
from angelia.faces.web.access.logins import Logins
from angelia.faces.web.conversations.uploads import Uploads
from angelia.sandboxes.workspace import copies_folder, snapshots_folder
from angelia.service.app import App
from angelia.service.settings.config import load
from tests.service.test_clock_set_right import brought
from tests.undo.test_bounds import keep

pytestmark = pytest.mark.anyio

WRONG = {"a year ahead": 400 * DAY_MS, "two days ahead": 2 * DAY_MS, "years behind": -20_000 * DAY_MS}
TALK = ConversationId("talk")


class Kept:
    """A home in which something lies of each kind that goes after a time."""

    def __init__(self, app: App, now: list[int], work: Path) -> None:
        self.app, self.now, self._work = app, now, work
        self.uploads = Uploads(app.intake, app.key_value, app.clock)
        self.logins = Logins(app.key_value, app.clock)
        self.brought = self.login = ""

    async def begin(self) -> None:
        """Everything is made, and looked at for the first time."""
        app, call = self.app, CallId("c1_0")
        shot = await app.blobs.put(b"a picture of a page", mime="image/webp")
        await app.transcript.append(
            TALK,
            [
                e.ConversationOpened("terminal", str(self._work)),
                e.UserSaid((Text("How does it look?"),)),
                e.ModelAsked("m", 1, ()),
                e.ModelSaid("m", (ToolCall(call, "browser_look", "{}"),), e.StopReason.TOOL_CALLS),
                e.ToolFinished(call, CallStatus.OK, (Media(shot, MediaKind.IMAGE, "page.webp", 4, 3),)),
                e.ModelSaid("m", (Text("Red."),), e.StopReason.END),
                e.TurnClosed(end.Answered()),
            ],
        )
        session = app.conversations.begin(door="acp", workspace=self._work)
        assert session.unspoken
        await app.handed_out.keep(ConversationId("handed out"), session.unspoken)
        app.blobs.set_aside((await app.blobs.put(b"swept")).sha256)
        keep(app.undo, self._work, "notes.txt")
        for folder in (copies_folder, snapshots_folder):
            (folder(app.loaded.home) / TALK).mkdir(parents=True)
        app.copies.leave(TALK)
        await app.upkeep.tidy()
        self.brought = await brought(self.uploads)
        self.login = await self.logins.begin("password")

    async def look(self) -> None:
        """Whatever looks for what is too old does so."""
        await self.app.upkeep.tidy()
        await brought(self.uploads)
        await self.logins.new_code()

    async def there(self) -> dict[str, bool]:
        """What there is still."""
        app = self.app
        entries = await app.transcript.entries(TALK) if await app.transcript.conversations(OWNER) else []
        shots = [one for entry in entries if isinstance(entry.fact, e.ToolFinished) for one in entry.fact.parts]
        return {
            "the conversation": bool(entries),
            "its screenshot": bool(shots) and isinstance(shots[0], Media) and await app.blobs.has(shots[0].blob),
            "the id that was handed out": await app.handed_out.of(ConversationId("handed out")) is not None,
            "the file that was brought": bool(await app.key_value.get(f"web-upload:{self.brought}")),
            "a login": bool(await app.key_value.get(f"web-login:{sha256(self.login.encode()).hexdigest()}")),
            "a helper's copy": (copies_folder(app.loaded.home) / TALK).exists(),
            "what was swept": bool(await app.blobs.trash()),
            "what can be taken back": bool(app.undo.steps("c")),
        }


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    now = [wall_clock()]
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "home/config.toml").write_text("[retention]\ndays = 90\n")
    app = await App.open(load(tmp_path / "home", {}), {}, lambda: now[0])
    kept = Kept(app, now, tmp_path / "work")
    await kept.begin()
    yield kept
    await app.close()


@pytest.mark.parametrize("wrong", WRONG)
async def test_what_a_clock_says_at_one_look_alone_erases_nothing(kept: Kept, wrong: str) -> None:
    right = kept.now[0]
    for moment in (right + WRONG[wrong], right + DAY_MS // 2, right + 3 * DAY_MS // 4):
        kept.now[0] = moment
        await kept.look()
        assert [what for what, there in (await kept.there()).items() if not there] == []


async def test_what_is_old_at_two_looks_goes(kept: Kept) -> None:
    for _ in range(2):
        kept.now[0] += 400 * DAY_MS
        await kept.look()
    assert [what for what, there in (await kept.there()).items() if there] == []
