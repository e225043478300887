"""Random conversations by the thousand, interrupted as life interrupts them: each request extends the one before."""

import random
import re
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from angelia.context.request import ModelRequest, Opened, OpenedBytes, OpenedText, OpenMedia, Shown
from angelia.context.view import View, advance
from angelia.core import entry as e
from angelia.core.content import Form, MediaKind
from angelia.core.profile import Ability, Profile
from angelia.models.port import Credential
from angelia.models.wires import anthropic, openai_chat, openai_responses
from angelia.models.wires.fragments import Fragments
from angelia.models.wires.wire import Wire
from angelia.testing.logs.random_logs import log_from
from tests.examples import TIMES

pytestmark = pytest.mark.anyio

LOGS = 10_000 if TIMES else 1_500
"""Shared by the three wires; ten thousand in `make soak`."""

MAKERS: dict[str, Callable[[Profile, OpenMedia], Wire]] = {
    "openai-chat": openai_chat.ChatWire,
    "openai-responses": openai_responses.ResponsesWire,
    "anthropic": anthropic.MessagesWire,
}
MARK = re.compile(rb',"cache_control":\{"type":"ephemeral"\}')
KEY = Credential("key", "secret")


def profile(wire: str) -> Profile:
    """The model that the random logs tell of, so that its own signed blocks go back to it."""
    marks = 4 if wire == "anthropic" else 0
    return Profile(
        "scripted:m", "scripted", "m", wire, images=Ability.YES, documents=Ability.YES, cache_marks=marks, max_output=1
    )


async def open_media(shown: Shown) -> tuple[Opened, ...]:
    """The same bytes for the same medium in the same form, every time."""
    name = f"{shown.media.name} {shown.form} {shown.long_edge}"
    if shown.form is not Form.NATIVE:
        return (OpenedText(name),)
    return (OpenedBytes("application/pdf" if shown.media.media is MediaKind.DOCUMENT else "image/png", name.encode()),)


class Speaker:
    """One life of the process that drives a conversation: its view grows with the log, its fragments are kept."""

    def __init__(self, wire: str) -> None:
        self._wire = MAKERS[wire](profile(wire), open_media)
        self._fragments = Fragments(self._wire.encode)
        self._view = View(profile(wire))

    async def body(self, log: Sequence[e.Entry]) -> tuple[int, bytes]:
        """The generation, and what goes over the wire for the request at the end of this log, cache marks aside."""
        self._view = advance(self._view, log)
        view = self._view
        request = ModelRequest(view.profile, "Be brief.", (), view.messages, view.generation, max_output=1)
        outgoing = self._wire.outgoing(request, await self._fragments.of(request), KEY)
        return view.generation, MARK.sub(b"", outgoing.body)


async def requests(wire: str, log: Sequence[e.Entry], dies_at: int) -> AsyncIterator[tuple[int, bytes]]:
    """Every request of a conversation whose process is killed before the request at `dies_at`, and lives again."""
    speaker = Speaker(wire)
    for at, entry in enumerate(log, 1):
        if isinstance(entry.fact, e.ModelAsked):
            speaker = Speaker(wire) if at >= dies_at > 0 else speaker
            dies_at = 0 if at >= dies_at else dies_at
            yield await speaker.body(log[:at])


async def broken(wire: str, log: Sequence[e.Entry], dies_at: int, *, announced: bool = True) -> list[str]:
    """The requests that do not extend the one before; a view move is no excuse unless it is `announced`."""
    found = []
    generation, before = -1, b"{"
    async for now, body in requests(wire, log, dies_at):
        assert body.endswith(b"]}")
        if (now == generation or not announced) and not body.startswith(before.removesuffix(b"]}")):
            found.append(f"{before[-200:]!r} is not extended by {body!r}")
        generation, before = now, body
    return found


@pytest.mark.parametrize("wire", MAKERS)
async def test_each_request_extends_the_last_byte_for_byte_between_view_moves(wire: str) -> None:
    dice = random.Random(f"prefix law on {wire}")
    for _ in range(-(-LOGS // len(MAKERS))):
        tape = dice.randbytes(dice.randrange(120))
        log = log_from(tape)
        assert not await broken(wire, log, dice.randrange(len(log))), f"the log of tape {tape.hex()}"


@pytest.mark.parametrize("wire", MAKERS)
async def test_a_view_that_moved_unannounced_would_be_seen(wire: str) -> None:
    dice = random.Random(1)
    logs = [log_from(dice.randbytes(100)) for _ in range(100)]
    assert sum([bool(await broken(wire, log, 0, announced=False)) for log in logs]) > 20
