"""A home whose log lies in PostgreSQL: every command and the gateway work on it as on one that lies in the home."""

import asyncio
import os
import signal
import tempfile
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from angelia.core.content import Media, MediaKind, Text
from angelia.core.entry import AnyFact, ConversationOpened, UserSaid
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.store.log.copying import copy_as_it_stands, digests
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore, StoreConnection
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.sql.database import Database
from angelia.store.sql.upkeep import verify
from angelia.store.tables.key_value import KeyValue
from angelia.testing.crash import Run
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from angelia.testing.networks.telegram_server import TelegramServer
from tests import nursery
from tests.chats.gateway_lives import Story, tell
from tests.examples import TIMES
from tests.nursery import Nursery
from tests.people.group import ANN, SAID
from tests.people.group import fill as fill_group
from tests.store.postgres_server import PostgresServer
from tests.store.words import said

pytestmark = pytest.mark.anyio


async def test_a_conversation_is_begun_gone_on_with_found_and_looked_through(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "ANGELIA_HOME": str(tmp_path / "home"),
        "ANGELIA_STORE": postgres.fresh(),
        "OPENAI_API_KEY": "none",
    }

    async def angelia(*words: str, more: Mapping[str, str] | None = None) -> str:
        run = await nursery.run(words, {**environ, **(more or {})})
        assert (run.status, "Traceback" in run.stderr) == (0, False), run.stdout + run.stderr
        return run.stdout

    async with ModelServer([say("A plover."), say("Grey.")]) as server:
        ask = ("ask", "-C", str(tmp_path / "work"), "--model", "openai-chat:scripted", "--set", "sandbox.confine=off")
        env = {"OPENAI_BASE_URL": server.base_url}
        assert (await angelia(*ask, "Which bird?", more=env)).endswith("A plover.\n")
        assert (await angelia(*ask, "--continue", "Its colour?", more=env)).endswith("Grey.\n")
        assert "Which bird?" in str(server.requests[-1].heard.messages)
    assert "Which bird?" in await angelia("sessions")
    assert "plover" in await angelia("search", "plover")
    assert "is in order" in await angelia("store", "verify")
    assert "derived anew" in await angelia("store", "rebuild")
    assert "is in order" in await angelia("store", "verify")
    assert not (tmp_path / "home" / "angelia.db").exists()


async def test_a_backup_of_it_is_a_home_with_the_log_in_it_and_goes_back_into_postgresql(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    address = postgres.fresh()
    (home := tmp_path / "home").mkdir()
    (home / "config.toml").write_text(f'store = "{address}"\n[limits]\nmax_steps = 7\n')
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ANGELIA_HOME": str(home)}

    async def angelia(*words: str, at: Path = home) -> Run:
        run = await nursery.run(words, {**environ, "ANGELIA_HOME": str(at)})
        assert (run.status, "Traceback" in run.stderr) == (0, False), run.stdout + run.stderr
        return run

    with closing(PostgresDatabase.open(address, home)) as db:
        blobs = BlobStore(home)
        picture = Media(await blobs.put(b"a picture"), MediaKind.IMAGE)
        facts: list[AnyFact] = [
            ConversationOpened("terminal", "/"),
            UserSaid((Text("grebe"), picture)),
            said("and another"),
        ]
        await Transcript(db).append(ConversationId("talk0001"), facts)
        await KeyValue(db).put("kept", "beside")
        wanted = await db.read(digests)
    made = await angelia("backup", str(tmp_path / "backups"))
    assert "restored once to try, and in order" in made.stdout
    (archive,) = (tmp_path / "backups").glob("angelia-*.tar.gz")
    back = tmp_path / "back"
    told = await angelia("restore", str(archive), at=back)
    assert f"Its log lay in {address}" in told.stderr
    assert "store" not in (back / "config.toml").read_text()
    assert "max_steps = 7" in (back / "config.toml").read_text()
    with closing(Database.open(back)) as restored:
        assert await restored.read(digests) == wanted
        assert await KeyValue(restored).get("kept") == "beside"
        assert await verify(restored, BlobStore(back)) == []
        assert await BlobStore(back).get(picture.blob.sha256) == b"a picture"
        assert len((await search(restored, OWNER, "grebe")).hits) == 1
    await angelia("store", "copy", "home", other := postgres.fresh(), at=back)
    with closing(PostgresDatabase.open(other, back)) as db:
        assert await db.read(digests) == wanted


async def test_what_is_written_while_a_backup_is_made_is_not_half_in_it(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    address = postgres.fresh()
    talk = ConversationId("talk")
    with (
        closing(PostgresDatabase.open(address, tmp_path / "one")) as db,
        closing(PostgresDatabase.open(address, tmp_path / "two")) as other,
    ):
        await Transcript(db).append(talk, [ConversationOpened("terminal", "/"), *(said(str(n)) for n in range(1500))])
        over = asyncio.Event()

        async def go_on_writing() -> None:
            while not over.is_set():
                await Transcript(other).append(talk, [said("meanwhile")])

        writing = asyncio.create_task(go_on_writing())
        with closing(Database.open(tmp_path / "copy")) as copy:
            await copy_as_it_stands(db, copy)
            over.set()
            await writing
            copied = await copy.read(digests)
            place = await copy.read(lambda connection: connection.execute("SELECT max(id) FROM entries").fetchone()[0])
            assert copied == await db.read(partial(digests, upto=place))
            assert await verify(copy, BlobStore(tmp_path / "copy")) == []
        assert len(await Transcript(db).entries(talk)) > copied["talk"][0] >= 1501


async def test_a_person_is_erased_from_every_table_of_it(tmp_path: Path, postgres: PostgresServer) -> None:
    (tmp_path / "home").mkdir()
    app = await App.open(load(tmp_path / "home", {"ANGELIA_STORE": postgres.fresh()}, (), {}))
    await fill_group(app)

    def found(connection: StoreConnection) -> list[str]:
        ours = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
        rows = [
            bytes(value) if isinstance(value, memoryview) else repr(value).encode()
            for (table,) in connection.execute(ours).fetchall()
            for row in connection.execute(f"SELECT * FROM {table}").fetchall()
            for value in row
        ]
        return [word for word in (SAID, ANN.id) if any(word.encode() in value for value in rows)]

    assert await app.db.read(found) == [SAID, ANN.id]
    await app.person_erasure.erase(ANN, OWNER)
    assert await app.db.read(found) == []
    assert await verify(app.db, app.blobs) == []
    await app.close()


class SharedStory(Story):
    """The story of a gateway, with the log in PostgreSQL."""

    def keep_in(self, address: str) -> None:
        """Let the log lie there."""
        self.env = {**self.env, "ANGELIA_STORE": address}

    def log(self) -> LogStore:
        """What is stored."""
        return PostgresDatabase.open(self.env["ANGELIA_STORE"], self.home)


@pytest.mark.soak(every=4)
@pytest.mark.parametrize(
    "point",
    ["", "append.before_commit:4", "append.after_commit:9", "delivery.sent:1"]
    + [f"append.after_commit:{number}" for number in range(1, 30) if TIMES],
)
async def test_a_gateway_that_is_killed_goes_on(tmp_path: Path, postgres: PostgresServer, point: str) -> None:
    async with ModelServer(tell) as model, TelegramServer() as network, Nursery() as children:
        story = SharedStory(tmp_path, model, network)
        story.keep_in(postgres.fresh())
        await story.begin()
        if point:
            assert (await story.live(children, point)).status == -signal.SIGKILL
        life = await story.live(children)
        assert life.status in ((0, -signal.SIGTERM) if point else (0,)), life.stderr
        assert await story.broken() == []


async def test_each_home_of_a_shared_log_looks_after_its_own_disk_once_a_day(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, store = tmp_path / "angelia-browser-left", postgres.fresh()
    gone = []
    for name in ("here", "there", "there"):
        left.mkdir(exist_ok=True)
        app = await App.open(load(tmp_path / name, {}, (), {"store": store}), {})
        assert await app.upkeep.tidy() == []
        gone.append(not left.exists())
        await app.close()
    assert gone == [True, True, False]
