"""What strangers bring to the listener is refused before it is held, and holds up nobody else."""

import asyncio
import socket
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from angelia.channels.webhooks import WebResponse
from angelia.faces.gateway.server import GatewayServer
from angelia.faces.listener.connection import bounded
from angelia.faces.listener.serve import Scope, Send, serve
from angelia.faces.listener.under_way import UnderWay
from angelia.faces.listener.unfinished import ListenerLimits, Receive, UnfinishedBodies
from angelia.service.app import App
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import wait
from angelia.service.metrics import Metrics
from angelia.service.schedule.signals import Signals
from angelia.service.settings.config import load
from angelia.testing.networks.whatsapp_webhooks import signed
from tests.faces.angelia import Place
from tests.ports import free_port

pytestmark = pytest.mark.anyio

MB = 1_000_000
UPLOADS = 40
FORGED = f"X-Hub-Signature-256: sha256={'0' * 64}\r\n"
SECRET = "app-secret"
EMPTY = b'{"object":"whatsapp_business_account","entry":[]}'


async def told(port: int, request: bytes) -> int:
    """The status of an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    async with asyncio.timeout(60):
        status = await reader.readline()
    await closed(writer)
    return int(status.split()[1])


async def closed(*writers: asyncio.StreamWriter) -> None:
    """Let go of them, however they ended."""
    for writer in writers:
        writer.transport.abort()
    await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


async def ends(reader: asyncio.StreamReader) -> bool:
    """Whether the other side lets go without a word."""
    try:
        async with asyncio.timeout(60):
            return await reader.read(1) == b""
    except ConnectionError:
        return True


async def listens(port: int, ended: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not ended():
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await wait(None, 0.01)
            else:
                await closed(writer)
                return
    pytest.fail("It never listened.")


class Process:
    """A gateway in a process of its own, and what it holds."""

    def __init__(self, pid: int, port: int) -> None:
        self._status, self._peak, self.port = Path(f"/proc/{pid}/status"), Path(f"/proc/{pid}/clear_refs"), port

    def begin(self) -> int:
        """Set the high-water mark back (proc(5), `clear_refs`); bytes now. A process that keeps its keys from its own
        user lets root alone do that: for others the mark is that of its start.
        """
        with suppress(PermissionError):
            self._peak.write_text("5")
        return self.most()

    def most(self) -> int:
        """Bytes at the highest since then."""
        (line,) = [one for one in self._status.read_text().splitlines() if one.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024


@asynccontextmanager
async def gateway_process(place: Place) -> AsyncIterator[Process]:
    port = free_port()
    place.home.mkdir()
    (place.home / "config.toml").write_text(
        f'[gateway]\nlisten = "127.0.0.1:{port}"\ntoken = {{ env = "HEALTH" }}\n'
        '[channels.whatsapp]\nphone = "1"\napi = "http://127.0.0.1:9"\n'
        '[signals.code]\nscheme = "github"\nsecret = { env = "CODE" }\n'
    )
    keys = {
        "HEALTH": "t",
        "CODE": "a" * 32,
        "WHATSAPP_TOKEN": "t",
        "WHATSAPP_APP_SECRET": SECRET,
        "WHATSAPP_VERIFY_TOKEN": "v",
    }
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "angelia", "gateway"),
        cwd=place.work,
        env=place.environment(keys),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await listens(port, lambda: child.returncode is not None)
        yield Process(child.pid, port)
    finally:
        child.kill()
        await child.wait()


async def upload(port: int, head: str, size: int) -> asyncio.StreamWriter:
    """Begin to bring so many bytes, and never end; whatever is not taken is not brought."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST {head}\r\n".encode())
    chunked = "chunked" in head
    try:
        for _ in range(size // 100_000):
            writer.write(b"186a0\r\n" + b"a" * 100_000 + b"\r\n" if chunked else b"a" * 100_000)
            await writer.drain()
    except ConnectionError:
        pass
    return writer


WHOLE = f"Host: x\r\nContent-Length: {25 * MB}\r\n"
CHUNKED = "Host: x\r\nTransfer-Encoding: chunked\r\n"
ATTACKS = {
    "nowhere": (f"/ HTTP/1.1\r\n{WHOLE}", 25 * MB),
    "no such channel": (f"/hooks/nobody HTTP/1.1\r\n{WHOLE}", 25 * MB),
    "health without its token": (f"/health HTTP/1.1\r\n{WHOLE}", 25 * MB),
    "metrics without their token": (f"/metrics HTTP/1.1\r\n{WHOLE}", 25 * MB),
    "a link that is none": (f"/files/x HTTP/1.1\r\n{WHOLE}", 25 * MB),
    "no signature": (f"/hooks/whatsapp HTTP/1.1\r\n{WHOLE}", 25 * MB),
    "a forged signature": (f"/hooks/whatsapp HTTP/1.1\r\n{FORGED}{WHOLE}", 25 * MB),
    "of no told length": (f"/hooks/whatsapp HTTP/1.1\r\n{FORGED}{CHUNKED}", 25 * MB),
    "a signal without a signature": (f"/in/code HTTP/1.1\r\n{WHOLE}", 25 * MB),
    "a forged signal of no told length": (f"/in/code HTTP/1.1\r\n{FORGED}{CHUNKED}", 25 * MB),
    "just within the limit": (f"/hooks/whatsapp HTTP/1.1\r\n{FORGED}{CHUNKED}", 2_900_000),
}
UNREAD = {name: head for name, (head, _) in ATTACKS.items() if WHOLE in head}
STATUS = {
    "nowhere": 404,
    "no such channel": 404,
    "health without its token": 401,
    "metrics without their token": 401,
    "a link that is none": 404,
    "no signature": 403,
    "a signal without a signature": 403,
    "a forged signature": 413,
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux tells it")
async def test_forty_uploads_that_never_end_hold_little_and_others_are_served_meanwhile(place: Place) -> None:
    offered = {name: UPLOADS * size for name, (_, size) in ATTACKS.items()}
    assert min(offered.values()) > 100 * MB
    async with gateway_process(place) as process:
        port = process.port
        visit = "".join(f"{name}: {value}\r\n" for name, value in signed(EMPTY, SECRET).items())
        honest = f"POST /hooks/whatsapp HTTP/1.1\r\nHost: x\r\n{visit}Content-Length: {len(EMPTY)}\r\n\r\n".encode()
        health = b"GET /health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n\r\n"
        assert (await told(port, honest + EMPTY)) == 200
        refused = {name: await told(port, f"POST {head}\r\n".encode()) for name, head in UNREAD.items()}
        assert refused == {name: STATUS[name] for name in UNREAD}, "said before a byte of the body has come"
        grown: dict[str, int] = {}
        for name, (head, size) in ATTACKS.items():
            before = process.begin()
            async with asyncio.timeout(60):
                writers = await asyncio.gather(*(upload(port, head, size) for _ in range(UPLOADS)))
            assert (await told(port, honest + EMPTY)) == 200, name
            assert (await told(port, health)) in (200, 503), name
            grown[name] = (process.most() - before) // MB
            await closed(*writers)
        assert max(grown.values()) < 40, grown


@asynccontextmanager
async def listening(folder: Path, limits: ListenerLimits) -> AsyncIterator[int]:
    """A listener within these limits, before a gateway without channels."""
    env = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "CODE": "a" * 32}
    sets = ("sandbox.confine=off", "signals.code.scheme=github", 'signals.code.secret={env="CODE"}')
    app = await App.open(load(folder / "home", env, sets, {}), env)
    port = free_port()
    gateway = Gateway(app.chat_services)
    metrics = Metrics(app.db, lambda: gateway.standings)
    server = GatewayServer(gateway, "", Signals(app.outside_services), metrics, limits)
    task = asyncio.create_task(server.run(f"127.0.0.1:{port}"))
    try:
        await listens(port, task.done)
        yield port
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=60)
        await app.close()


@pytest.mark.parametrize("sent", [b"", b"G", b"POST /hooks/x HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_a_request_that_never_becomes_whole_is_ended(tmp_path: Path, sent: bytes) -> None:
    async with listening(tmp_path, ListenerLimits(head_s=0.05)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        assert await ends(reader)
        await closed(writer)


class _NoApp:
    limits = ListenerLimits(head_s=3600)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("nobody asks for anything")


@pytest.mark.parametrize("rounds", range(4))
async def test_who_connects_as_the_listener_ends_is_let_go(rounds: int) -> None:
    """Between the moment in which somebody is let in and the one in which this is known the loop goes round."""
    port = free_port()
    serving = asyncio.create_task(serve(_NoApp(), f"127.0.0.1:{port}"))
    await listens(port, serving.done)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:  # while the loop stands still
        for _ in range(rounds):
            await asyncio.sleep(0)
        serving.cancel()
        await asyncio.wait([serving])
        with suppress(ConnectionResetError):
            assert await asyncio.to_thread(client.recv, 1) == b""


async def test_a_signal_that_never_becomes_whole_begins_nothing_and_is_said_in_the_log(tmp_path: Path) -> None:
    async with listening(tmp_path, ListenerLimits(body_s=0.05)) as port:
        head = f"POST /in/code HTTP/1.1\r\nHost: x\r\n{FORGED}Content-Length: 100\r\n\r\nabc"
        assert (await told(port, head.encode())) == 408
        assert "a signal to /in/code was refused (408)" in (tmp_path / "home" / "angelia.log").read_text()


async def test_what_does_not_arrive_before_the_end_is_refused_and_is_no_fault_in_the_log(tmp_path: Path) -> None:
    async with listening(tmp_path, ListenerLimits(answered_s=0.01)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST /in/code HTTP/1.1\r\nHost: x\r\n{FORGED}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"
        writer.write(head.encode())
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 "), "its body is waited for"
        writer.write(b"abc")
    async with asyncio.timeout(60):
        assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
    await closed(writer)
    log = tmp_path / "home" / "angelia.log"
    assert not log.exists() or "ERROR" not in log.read_text()


async def test_of_silent_connections_the_oldest_make_room_for_who_speaks(tmp_path: Path) -> None:
    async with listening(tmp_path, ListenerLimits(head_s=3600, heads=4, connections=8)) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(12)]
        assert (await told(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")) == 404
        assert all([await ends(reader) for reader, _ in silent[:8]])
        await closed(*(writer for _, writer in silent))


class Waiting:
    """Answers `/slow` once it may, everything else at once."""

    limits = ListenerLimits(head_s=3600)

    def __init__(self) -> None:
        self.asked, self.may = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            self.asked.set()
            await self.may.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


async def test_when_the_listener_ends_idle_connections_end_and_others_with_their_answer() -> None:
    server, port = Waiting(), asyncio.get_running_loop().create_future()
    listening = asyncio.create_task(serve(server, "127.0.0.1:0", begun=port.set_result))
    silent, kept, slow = [await asyncio.open_connection("127.0.0.1", await port) for _ in range(3)]
    kept[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await kept[0].readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
    slow[1].write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
    await server.asked.wait()
    listening.cancel()
    await asyncio.wait([listening])
    assert await ends(silent[0])
    assert await ends(kept[0])
    server.may.set()
    assert (await slow[0].readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
    assert await ends(slow[0])
    await closed(*(writer for _, writer in (silent, kept, slow)))


class Burst:
    """Has a thousand pieces at once for somebody who hangs up with the first."""

    limits = ListenerLimits()

    def __init__(self) -> None:
        self.client, self.sent, self.over = socket.socket(), 0, asyncio.Event()
        self._under_way = UnderWay()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._under_way.answer(self._answer, send)

    async def _answer(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.client.close()
        for _ in range(1000):
            await send({"type": "http.response.body", "body": b"piece", "more_body": True})
            self.sent += 1
        await send({"type": "http.response.body"})
        self.over.set()


async def test_who_hangs_up_in_the_middle_of_an_answer_is_no_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, port = Burst(), asyncio.get_running_loop().create_future()
    listening = asyncio.create_task(serve(server, "127.0.0.1:0", begun=port.set_result))
    server.client.connect(("127.0.0.1", await port))
    server.client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(60):
        await server.over.wait()
    listening.cancel()
    await asyncio.wait([listening])
    assert (server.sent, caplog.text) == (1000, "")


async def test_an_answer_that_nobody_takes_is_ended() -> None:
    gone = asyncio.Event()

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        feeding = asyncio.create_task(_feed(send))
        await receive()
        while (await receive())["type"] != "http.disconnect":
            pass
        feeding.cancel()
        gone.set()

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        free.listen()
        config = uvicorn.Config(endless, lifespan="off", log_config=None, http=bounded(ListenerLimits(stalled_s=0.05)))
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([free]))
        reader, writer = await asyncio.open_connection(*free.getsockname(), limit=1)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(60):
            await gone.wait()
        assert await reader.read(1)
        await closed(writer)
        server.should_exit = True
        await task


async def _feed(send: Callable[[MutableMapping[str, Any]], Awaitable[None]]) -> None:
    while True:
        await send({"type": "http.response.body", "body": b"a" * 100_000, "more_body": True})
        await asyncio.sleep(0)  # an answer that nobody hears any more is taken without waiting


class Sending:
    """One who brings a body: the server's side of it, as ASGI has it."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.taken = list(pieces), asyncio.Event()

    async def __call__(self) -> dict[str, Any]:
        if self.pieces:
            return {"type": "http.request", "body": self.pieces.pop(0), "more_body": True}
        self.taken.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError


async def test_a_body_that_never_ends_is_ended() -> None:
    bodies = UnfinishedBodies(ListenerLimits(body_s=0.01))
    assert await bodies.read(Sending(b"a"), 10) == WebResponse(408)
    assert bodies.held == 0


@pytest.mark.parametrize(
    ("limits", "sizes", "gone"),
    [
        (ListenerLimits(held=10), (4, 9, 3), 1),
        (ListenerLimits(held=10), (4, 3, 9), 2),
        (ListenerLimits(bodies=2), (4, 9, 3), 0),
    ],
    ids=["the largest", "the largest, though it came last", "the oldest"],
)
async def test_of_unfinished_bodies_one_makes_room(limits: ListenerLimits, sizes: tuple[int, ...], gone: int) -> None:
    bodies = UnfinishedBodies(limits)
    tasks = []
    for size in sizes:
        sending = Sending(b"a" * size)
        tasks.append(asyncio.create_task(bodies.read(sending, 100)))
        taken = asyncio.create_task(sending.taken.wait())
        await asyncio.wait([taken, tasks[-1]], return_when=asyncio.FIRST_COMPLETED, timeout=60)
        taken.cancel()
    async with asyncio.timeout(60):
        assert await tasks.pop(gone) == WebResponse(503)
    assert bodies.held == sum(sizes) - sizes[gone]
    assert not any(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
