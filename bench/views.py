"""Rows about the context: planning a view move over a long log, estimating the next request."""

import asyncio
import time
from collections.abc import Coroutine, Iterator
from typing import Any

from angelia.context.budget import fixed_size
from angelia.context.compaction import CompactionInput
from angelia.context.view import View, advance
from angelia.core import entry as e
from angelia.core.content import BlobRef, CallStatus, Media, MediaKind, Text, ToolCall
from angelia.core.ending import Answered
from angelia.core.ids import call_id
from angelia.core.profile import Ability, ImageLimits, Profile
from angelia.engine.compaction import ContextBudget, allowed_for, budget_for, compact
from angelia.engine.machine import Fit
from bench.rows import Row, row
from bench.runs import Benchmark

ENTRIES = 10_000
PROFILE = Profile(
    "v:m",
    "v",
    "m",
    "openai-chat",
    window=200_000,
    images=Ability.YES,
    body_limit=20_000_000,
    image_limits=ImageLimits(tokens="tile"),
)
SPACE = ContextBudget(0.8, 8_192)
FIXED = fixed_size("You are an agent. " * 40, ())

_PROSE = "The test fails because the clock is read twice; the second reading is later than the first one. "
_OUTPUT = "src/app/main.py:{n}: def handle(request: Request, *, retries: int = 3) -> Response:  # {n:08x}\n"


def rows(bench: Benchmark) -> Iterator[Row]:
    """Planning and estimating."""
    name, plans = f"planning a view move over {ENTRIES:,} entries", bench.times
    yield row(name, "ms", asyncio.run(planning(lived(ENTRIES), plans)), 0.050)
    yield row("    with none made before: six windows at once", "ms", asyncio.run(planning(long_log(ENTRIES), plans)))
    yield row("estimating a request at 1,000 messages", "ms", estimates(bench.times), 0.001)


async def planning(log: list[e.Entry], times: int) -> list[float]:
    """Seconds of each plan, which leaves the log as it is."""
    view, running = advance(View(PROFILE), log), (max(x.seq for x in log if isinstance(x.fact, e.UserSaid)),)
    took = []
    for _ in range(times):
        start = time.perf_counter()
        moved = await compact(CompactionInput(log, view, allowed_for(view, SPACE), FIXED, running), SPACE, "room")
        took.append(time.perf_counter() - start)
        assert moved.tokens_after < moved.tokens_before
    return took


class _RoomMade:
    """Compacts whenever it is needed, until the log has its length and needs it again."""

    def __init__(self, length: int) -> None:
        self._length, self._view, self.over = length, View(PROFILE), False

    def __call__(self, log: list[e.Entry], running: int) -> None:
        self._view = advance(self._view, log)
        allowed = allowed_for(self._view, SPACE)
        if budget_for(log, self._view, FIXED, allowed) is Fit.FITS:
            return
        self.over = len(log) >= self._length
        if not self.over:
            ground = CompactionInput(log, self._view, allowed, FIXED, (running,))
            log.append(e.Entry(len(log) + 1, 0, _now(compact(ground, SPACE, "room"))))


def lived(length: int) -> list[e.Entry]:
    """A log that was compacted whenever it was needed, up to where it is needed again."""
    made = _RoomMade(length)
    return long_log(2 * length, made)


def _now(planned: Coroutine[Any, Any, e.ViewMoved]) -> e.ViewMoved:
    """The outcome of a plan that waits for nobody, since it has no summariser."""
    try:
        planned.send(None)
    except StopIteration as done:
        moved: e.ViewMoved = done.value
        return moved
    raise AssertionError("the plan waited")


def estimates(times: int) -> list[float]:
    """Seconds for one more entry and the look whether the request still fits."""
    log = long_log(2_500)
    view = advance(View(PROFILE), log)
    assert len(view.messages) >= 1_000, len(view.messages)
    took = []
    for _ in range(times * 3):
        log.append(e.Entry(len(log) + 1, 0, e.UserSaid((Text(_PROSE * 5),))))
        start = time.perf_counter()
        view = advance(view, log)
        budget_for(log, view, FIXED, allowed_for(view, SPACE))
        took.append(time.perf_counter() - start)
    return took


class _NoRoomMade:
    """Lets the log grow."""

    over = False

    def __call__(self, log: list[e.Entry], running: int) -> None:
        """Do nothing."""


_GROWING = _NoRoomMade()


def long_log(length: int, after_result: "_RoomMade | _NoRoomMade" = _GROWING) -> list[e.Entry]:
    """A log of turns with a picture now and then, some twenty calls each, and results of a few lines to a few pages."""
    log: list[e.Entry] = []

    def add(fact: e.AnyFact) -> int:
        log.append(e.Entry(len(log) + 1, len(log), fact))
        return len(log)

    add(e.ConversationOpened("terminal", "/work"))
    while len(log) < length:
        number = len(log)
        picture = Media(
            BlobRef(f"{number:064x}", 300_000, "image/png"), MediaKind.IMAGE, "a.png", width=800, height=600
        )
        said = add(e.UserSaid((Text(_PROSE * 3), picture)))
        heard: tuple[int, ...] = (said,)
        for step in range(20):
            asked = add(e.ModelAsked("v:m", 1, heard))
            heard = ()
            call = ToolCall(call_id(asked, 0), "shell", f'{{"command":"pytest -q tests/test_{number}.py -k {step}"}}')
            add(e.ModelSaid("v:m", (Text(_PROSE), call), e.StopReason.TOOL_CALLS))
            add(e.ToolStarted(call.id))
            output = "".join(_OUTPUT.format(n=number + line) for line in range(2 + (number * 7 + step * 13) % 60))
            add(e.ToolFinished(call.id, CallStatus.OK, (Text(output),)))
            after_result(log, said)
            if after_result.over:
                return log
        asked = add(e.ModelAsked("v:m", 1, ()))
        add(e.ModelSaid("v:m", (Text(_PROSE * 4),), e.StopReason.END))
        add(e.TurnClosed(Answered()))
    return log[:length]
