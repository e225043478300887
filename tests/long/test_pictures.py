"""Turn after turn, each with a fresh picture: nobody is refused, and no picture is lost."""

import hashlib
import struct
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest

from angelia.core import ending as end
from angelia.core.content import Text
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer, ServerLimits
from angelia.testing.model.steps import Speak, call, say
from tests.examples import TIMES
from tests.long.home import history, home, moves, opened, turn

pytestmark = pytest.mark.anyio
TURNS = 200 if TIMES else 24
"""Each brings 2 MB, and a request has 20; two hundred in `make soak`."""
BODY = 20_000_000


def noise(seed: int, side: int = 820) -> bytes:
    """A PNG of about 2 MB that no compressor makes smaller; written by hand, fifteen times as fast as Pillow."""
    pixels, width = Random(seed).randbytes(side * side * 3), side * 3
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, len(pixels), width))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


async def test_turns_with_two_megabytes_each_are_all_answered(tmp_path: Path) -> None:
    newest: list[str] = []
    sizes: list[int] = []

    def answer(request: ReceivedRequest) -> Speak:
        newest.append(request.heard.media[-1].sha256)
        sizes.append(len(request.raw))
        return say("seen")

    limits = ServerLimits(body=BODY, window=200_000)
    async with (
        ModelServer(answer, limits=limits) as server,
        home(tmp_path, server, body_limit=BODY, window=200_000) as app,
    ):
        session = await opened(app, tmp_path)
        sent: list[str] = []
        latest: list[Any] = []
        grown = 0
        for number in range(TURNS):
            data = noise(number)
            sent.append(hashlib.sha256(data).hexdigest())
            media = await app.intake.to_media(data, f"shot-{number}.png")
            closed = await turn(session, Text(f"picture {number}"), media)
            assert closed.ending == end.Answered()
            before, latest = latest, history(server.requests.pop())
            grown += latest[: len(before)] == before
            assert server.requests == []  # one request a turn; hundreds of bodies would fill the machine's memory
        assert newest == sent
        assert max(sizes) < BODY
        assert grown >= TURNS - len(moves(session))
        assert 1 <= len(moves(session)) <= TURNS * 2_700_000 // 4_000_000  # once for 4 MB of what is sent


async def test_an_aged_picture_comes_back_by_look_again_equal_by_hash(tmp_path: Path) -> None:
    pictures = [noise(number, 400) for number in range(6)]
    first = hashlib.sha256(pictures[0]).hexdigest()
    steps = [*(say("seen") for _ in pictures), call("look_again", {"id": first[:12]}), say("there it is")]
    limits = ServerLimits(body=2_000_000)
    async with (
        ModelServer(by_replies(steps), limits=limits) as server,
        home(tmp_path, server, body_limit=2_000_000) as app,
    ):
        session = await opened(app, tmp_path)
        for number, data in enumerate(pictures):
            await turn(session, Text("see"), await app.intake.to_media(data, f"{number}.png"))
        assert moves(session)
        assert first not in {image.sha256 for image in server.requests[-1].images}
        closed = await turn(session, Text("show me the first one again"))
        assert closed.ending == end.Answered()
        assert server.requests[-1].images[-1].sha256 == first


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
async def test_two_pictures_drop_by_half_at_the_first_move_and_stay_folded_at_the_second(
    tmp_path: Path, wire: str
) -> None:
    async with (
        ModelServer(lambda _: say("seen")) as server,
        home(tmp_path, server, wire, body_limit=5_000_000) as app,
    ):
        session = await opened(app, tmp_path)
        for number in range(5):
            media = await app.intake.to_media(noise(number, 760), f"{number}.png")
            await turn(session, Text("see"), media)
        first, second = moves(session)[0], moves(session)[-1]
        assert first.bytes_after * 2 <= first.bytes_before
        assert second.aged[: len(first.aged)] == first.aged
        assert len(moves(session)) >= 2
        assert max(len(request.raw) for request in server.requests) < 5_000_000
