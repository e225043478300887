"""A clock that was years ahead holds nothing up once it is set right: what it marked then is no mark of today."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from angelia.core.days import DAY_MS
from angelia.core.entry import Scope
from angelia.core.errors import NotFound
from angelia.core.principal import OWNER, Principal
from angelia.faces.web.access.logins import Logins
from angelia.faces.web.asgi.request import RequestRefused
from angelia.faces.web.conversations.uploads import Uploads
from angelia.models.catalog.prices import KnownModel, PriceBook
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.store.sql.copy_folder import copies
from angelia.store.tables.grants import Grants
from angelia.store.tables.pairings import LIVES_MS, MOST_ASKING, Pairings
from tests.store.test_beside import ask_and_allow

pytestmark = pytest.mark.anyio

RIGHT = int(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp() * 1000)
AHEAD = RIGHT + 400 * DAY_MS


class Home:
    """A home whose clock is ahead, until it is set right."""

    def __init__(self, folder: Path) -> None:
        self.now = AHEAD
        self._folder = folder

    async def open(self) -> App:
        """All that it is made of."""
        return await App.open(load(self._folder / "home", {}), {}, lambda: self.now)


@pytest.fixture
async def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
async def app(home: Home) -> AsyncIterator[App]:
    app = await home.open()
    yield app
    await app.close()


async def test_the_log_is_copied_each_day_and_what_is_over_is_let_go(home: Home, app: App, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    session = app.conversations.begin(door="acp", workspace=tmp_path / "work")
    assert session.unspoken
    await app.handed_out.keep(session.conversation, session.unspoken)
    await app.upkeep.tidy()
    for day in (0, 1):
        home.now = RIGHT + day * DAY_MS
        await app.upkeep.tidy()
    assert len(copies(app.loaded.home)) == 3
    assert await app.handed_out.of(session.conversation) == session.unspoken, "it counts from now"
    for day in (32, 34):
        home.now = RIGHT + day * DAY_MS
        await app.upkeep.tidy()
    assert await app.handed_out.of(session.conversation) is None


async def brought(uploads: Uploads) -> str:
    """A file that was brought to the page; its id."""

    async def pieces() -> AsyncIterator[bytes]:
        yield b"some bytes"

    return (await uploads.take(pieces(), "a.txt"))[0]


async def test_a_file_that_no_message_named_is_let_go(home: Home, app: App) -> None:
    uploads = Uploads(app.intake, app.key_value, app.clock)
    early = await brought(uploads)
    for day in (0, 1):
        home.now = RIGHT + day * DAY_MS
        assert (await uploads.get(await brought(uploads))).name == "a.txt"
    assert (await uploads.get(early)).name == "a.txt", "it counts from now"
    for day in (3, 5):
        home.now = RIGHT + day * DAY_MS
        await brought(uploads)
    with pytest.raises(NotFound):
        await uploads.get(early)


async def test_a_visit_is_noted_as_the_last_one(home: Home, app: App) -> None:
    logins = Logins(app.key_value, app.clock)
    home.now = RIGHT
    token = await logins.begin("password")
    for home.now in (RIGHT + 20 * DAY_MS, RIGHT):
        assert await logins.known(token)
    assert [login.seen for login in await logins.all()] == [RIGHT]


@pytest.mark.parametrize("later", [0, 400], ids=["at once", "once it is then in truth"])
async def test_what_was_permitted_for_a_time_is_permitted_no_longer(home: Home, app: App, later: int) -> None:
    logins, pairings = Logins(app.key_value, app.clock), Pairings(app.db)
    link, token = await logins.new_code(), await logins.begin("password")
    code = await pairings.ask(Principal("chat", "ann"), "Ann")
    await ask_and_allow(app.transcript, "talk", Scope.REMEMBERED, until=AHEAD + 30 * DAY_MS)
    told: list[str] = []
    for day in dict.fromkeys((0, 1, later)):
        home.now = RIGHT + day * DAY_MS
        assert await Grants(app.db).list(OWNER) == []
        told += await app.upkeep.tidy()
        if day < later:
            await logins.new_code()
            await pairings.ask(Principal("chat", "ben"), "Ben")
    assert not await logins.known(token)
    assert isinstance(code, str)
    with pytest.raises(NotFound, match="Nobody waits"):
        await pairings.approve(code, by=OWNER)
    with pytest.raises(RequestRefused, match="cannot be used any more"):
        await logins.spend(link)
    assert [line for line in told if "“shell:git push” was given for a time while the clock was ahead" in line]


async def test_what_holds_without_an_end_holds(home: Home, app: App) -> None:
    await ask_and_allow(app.transcript, "talk", Scope.REMEMBERED)
    for day in (0, 1):
        home.now = RIGHT + day * DAY_MS
        assert await app.upkeep.tidy() == []
    assert len(await Grants(app.db).list(OWNER)) == 1


async def test_strangers_are_given_codes(home: Home, app: App) -> None:
    pairings = Pairings(app.db)
    strangers = [Principal("chat", str(number)) for number in range(MOST_ASKING)]
    for one in strangers:
        assert isinstance(await pairings.ask(one, "somebody"), str)
    home.now = RIGHT
    for one in (strangers[0], Principal("chat", "new")):
        assert isinstance(await pairings.ask(one, "somebody"), str)
    home.now = RIGHT + LIVES_MS - 1
    assert len(await pairings.waiting(OWNER)) == 2


def test_a_price_is_looked_up_again(tmp_path: Path) -> None:
    path, name = tmp_path / "models.json", "anthropic:claude"
    path.write_bytes(msgspec.json.encode({name: KnownModel(at=int(time.time()) + 400 * 86_400)}))
    assert PriceBook(path).stale(name)
