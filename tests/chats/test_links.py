"""A file that a network does not take goes as a link: whole, to whoever has it, for a while, and to nobody else."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.channels.capabilities import FILES, Capabilities, Kind, NativeMethod, Never
from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.errors import ConfigError, StoreUnreachable
from angelia.core.ids import wall_clock
from angelia.faces.gateway.server import GatewayServer
from angelia.faces.listener.serve import serve
from angelia.service.chats.open_channel import wait
from angelia.service.files.links import KEY_BYTES, KEY_FILE, links_of
from angelia.service.metrics import Metrics
from angelia.service.schedule.signals import Signals
from angelia.service.settings.config import GatewaySettings
from angelia.testing.channels.recording_channel import ABILITIES, FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.chats.town import Town, town

pytestmark = pytest.mark.anyio

DATA = "".join(f"{number}\n" for number in range(1, 400_001)).encode()
"""Several pieces."""

HOUR_MS = 3_600_000

WORDS_ALONE = replace(ABILITIES, ways={**ABILITIES.ways, **dict.fromkeys(FILES, Never("it carries words alone"))})
SMALL_FILES = replace(ABILITIES, ways={**ABILITIES.ways, Kind.DOCUMENT: NativeMethod("send_document", 1000)})

SCRIPT = [
    call("shell", {"command": "seq 1 400000 > 'odd name é.bin'"}),
    call("send_file", {"path": "odd name é.bin"}),
    say("There."),
]


class Clock:
    """Goes on as it does, and may be put forward."""

    ahead_ms = 0

    def __call__(self) -> int:
        return wall_clock() + self.ahead_ms


class Linking:
    """A life with a listener of its own."""

    def __init__(self, life: Town, port: int) -> None:
        self.life, self._port = life, port

    async def path(self) -> str:
        """The path of the link that the person got."""
        async with asyncio.timeout(60):
            await self.life.far.when(lambda far: "There." in far.texts("7"))
        await self.life.settled()
        (found,) = re.findall(r"http://127\.0\.0\.1:\d+(/files/[^\s>)]+)", "\n".join(self.life.far.texts("7")))
        return str(found)

    async def sent(self) -> Media:
        """The file as it lies in the store."""
        queued = [fact for fact in await self.life.facts() if isinstance(fact, e.DeliveryQueued)]
        (media,) = [part for fact in queued for part in fact.parts if isinstance(part, Media)]
        return media

    async def asked(self, path: str, method: str = "GET") -> tuple[str, bytes]:
        """What a browser is told: the head without its date, and the body."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode())
        async with asyncio.timeout(60):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return re.sub(r"\r\ndate:[^\r]*", "", head.decode("latin-1")), body


@asynccontextmanager
async def linking(
    folder: Path, capabilities: Capabilities = WORDS_ALONE, clock: Clock | None = None
) -> AsyncIterator[Linking]:
    """A gateway that listens on loopback; the scripted model sends one file to a network that does not take it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    listen = f"127.0.0.1:{port}"
    sets = ("sandbox.confine=off", f"gateway.listen={listen}", f"gateway.links=http://{listen}")
    async with (
        ModelServer(SCRIPT) as server,
        town(folder, server, FarEnd(), capabilities=capabilities, sets=sets, clock=clock or wall_clock) as life,
    ):
        metrics = Metrics(life.app.db, lambda: life.gateway.standings)
        gateway = GatewayServer(life.gateway, "", Signals(life.app.outside_services), metrics)
        listening = asyncio.create_task(serve(gateway, listen))
        try:
            await _answers(port, listening)
            await life.says("Send it")
            yield Linking(life, port)
        finally:
            listening.cancel()
            await asyncio.wait([listening], timeout=60)


async def _answers(port: int, listening: asyncio.Task[None]) -> None:
    async with asyncio.timeout(60):
        while not listening.done():
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await wait(None, 0.01)
            else:
                writer.close()
                return
    await listening


@pytest.mark.parametrize("capabilities", [WORDS_ALONE, SMALL_FILES], ids=["words alone", "small files"])
async def test_a_file_that_the_network_does_not_take_is_had_whole_by_its_link(
    tmp_path: Path, capabilities: Capabilities
) -> None:
    async with linking(tmp_path, capabilities) as linked:
        head, body = await linked.asked(await linked.path())
        assert body == DATA
        assert "attachment; filename*=UTF-8''odd%20name%20%C3%A9.bin" in head
        assert "nosniff" in head
        facts = await linked.life.facts()
        statuses = [fact.status for fact in facts if isinstance(fact, e.DeliverySettled)]
        assert set(statuses) == {e.DeliveryStatus.SENT}
        told = [fact.text for fact in facts if isinstance(fact, e.SystemSaid)]
        assert "goes as a link instead, which ends after 72 hours" in told[0]


async def test_while_the_store_is_away_whoever_has_a_link_is_told_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(token: str) -> None:
        raise StoreUnreachable("It is away.")

    async with linking(tmp_path) as linked:
        path = await linked.path()
        with monkeypatch.context() as while_away:
            while_away.setattr(linked.life.gateway, "linked", away)
            head, body = await linked.asked(path)
        assert head.startswith("HTTP/1.1 503")
        assert body == b"The file cannot be had now. Try again in a minute.\n"
        assert (await linked.asked(path))[1] == DATA


async def test_whoever_has_no_link_is_told_nothing(tmp_path: Path) -> None:
    clock = Clock()
    async with linking(tmp_path, clock=clock) as linked:
        path = await linked.path()
        nothing = await linked.asked("/there/is/no/such/page")
        assert nothing[1] == b""
        place, part, expires, signature = path.removeprefix("/files/").split("-")
        wrong = "0" if signature[0] != "0" else "1"
        forged = [
            f"{place}-{part}-{expires}-{wrong}{signature[1:]}",
            f"{place}-{part}-{int(expires, 16) + 3600:x}-{signature}",
            f"{int(place, 16) - 1:x}-{part}-{expires}-{signature}",
            f"{'f' * 16}-{part}-{expires}-{signature}",
            f"{place}-1-{expires}-{signature}",
            f"{place}-{part}-{expires}-{signature[:-1]}",
            f"{place}-{part}-{expires}-{signature}/",
            "",
        ]
        for token in forged:
            assert await linked.asked(f"/files/{token}") == nothing, token
        assert (await linked.asked(path, "POST")) == nothing
        assert (await linked.asked(path))[1] == DATA
        for hours in (73, -400 * 24):  # its time is over, or it was made while the clock was ahead
            clock.ahead_ms = hours * HOUR_MS
            assert await linked.asked(path) == nothing


async def test_a_deleted_conversation_takes_its_links_with_it(tmp_path: Path) -> None:
    async with linking(tmp_path) as linked:
        path, app = await linked.path(), linked.life.app
        conversation = await app.doors.conversation(e.Address("chat", "7"))
        assert conversation is not None
        chat_sessions = linked.life.gateway.chat_sessions
        await chat_sessions._let_go(chat_sessions._open.pop(conversation))
        await app.transcript.erase(conversation, app.blobs)
        await app.blobs.put(DATA)  # the bytes may be somebody else's, too
        assert await linked.asked(path) == await linked.asked("/nothing")


async def test_bytes_that_are_not_what_they_were_are_not_handed_out_as_whole(tmp_path: Path) -> None:
    async with linking(tmp_path) as linked:
        path = await linked.path()
        blob = linked.life.app.blobs.path((await linked.sent()).blob.sha256)
        blob.chmod(0o600)
        blob.write_bytes(bytes(len(DATA)))
        assert len((await linked.asked(path))[1]) < len(DATA)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (GatewaySettings(listen="127.0.0.1:1", links="files.example.org"), "gateway.links"),
        (GatewaySettings(listen="127.0.0.1:1", links="https://x/?y"), "gateway.links"),
        (GatewaySettings(links="https://files.example.org"), "gateway.listen"),
    ],
)
async def test_a_link_setting_that_cannot_be_is_named(tmp_path: Path, settings: GatewaySettings, key: str) -> None:
    async with ModelServer([]) as server, town(tmp_path, server, FarEnd()) as life:
        with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
            links_of(settings, tmp_path, life.app.outbox, wall_clock)
        assert not (tmp_path / KEY_FILE).exists()


async def test_links_are_made_by_nobody_unasked_and_by_a_key_that_is_kept(tmp_path: Path) -> None:
    async with ModelServer([]) as server, town(tmp_path, server, FarEnd()) as life:
        assert links_of(GatewaySettings(listen="127.0.0.1:1"), tmp_path, life.app.outbox, wall_clock) is None
        assert await life.gateway.linked("1-0-ffffffff-" + "0" * 43) is None
        settings = GatewaySettings(listen="127.0.0.1:1", links="https://x")
        for _ in range(2):
            assert links_of(settings, tmp_path, life.app.outbox, wall_clock) is not None
            kept = {(tmp_path / KEY_FILE).read_bytes()}
        assert [len(key) for key in kept] == [KEY_BYTES]
        assert (tmp_path / KEY_FILE).stat().st_mode & 0o077 == 0
