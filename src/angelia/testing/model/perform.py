"""How a step of the script is performed on a connection."""

import asyncio
from typing import assert_never

from angelia.core.content import ToolCall
from angelia.core.entry import Usage
from angelia.testing.model.http1 import Answering
from angelia.testing.model.received import ReceivedRequest, estimated_tokens
from angelia.testing.model.steps import Cut, CutUnit, Fail, Garbage, Hang, How, Speak, Step
from angelia.testing.model.wire import About, ServerWire, StreamEvent, Weight


async def perform(step: Step, request: ReceivedRequest, wire: ServerWire, out: Answering) -> None:
    """Do what the step says.

    Raises:
        ConnectionError: the client left before the end, or the step cut the connection.
    """
    match step:
        case Speak():
            about = _about(step, request)
            streams = request.heard.stream and not step.whole
            await (_stream if streams else _whole)(step, about, wire, out)
        case Fail():
            error = wire.refuse(step, request.heard.model)
            await out.whole(error.status, error.body, **_retry_after(step))
        case Garbage(body=body, mime=mime):
            await out.whole(200, body.encode(), mime=mime)
        case Hang():
            await out.silence()
        case _:
            assert_never(step)


def _retry_after(fail: Fail) -> dict[str, str]:
    if not fail.retry_after:
        return {}
    if fail.retry_after == int(fail.retry_after):
        return {"retry_after": str(int(fail.retry_after))}
    return {"retry_after_ms": str(round(fail.retry_after * 1000))}


def _about(step: Speak, request: ReceivedRequest) -> About:
    text = "".join(part.arguments if isinstance(part, ToolCall) else part.text for part in step.parts)
    guess = Usage(estimated_tokens(request.raw, request.heard), len(text) // 4 + 1)
    return About(request.number, request.heard.model, step.usage or guess, request.heard.usage_wanted)


async def _stream(step: Speak, about: About, wire: ServerWire, out: Answering) -> None:
    await out.head(200, "text/event-stream")
    pieces = octets = 0
    for event in wire.stream(step, about):
        if event.weight is Weight.CONTENT:
            await asyncio.sleep(step.between if pieces else step.first)
            pieces += 1
        if step.cut and (kept := _kept(event, step.cut, pieces, octets)) < len(event.data):
            if kept:
                await out.chunk(event.data[:kept])
            await _break(step.cut.how, wire, out)
            return
        await out.chunk(event.data)
        octets += len(event.data)
    if step.cut:
        await _break(step.cut.how, wire, out)
    else:
        await out.chunk(b"")


def _kept(event: StreamEvent, cut: Cut, pieces: int, octets: int) -> int:
    """How many bytes of this event still go out."""
    if cut.unit is CutUnit.BYTES:
        return max(0, min(len(event.data), cut.after - octets))
    over = event.weight is Weight.FINISH or (event.weight is Weight.CONTENT and pieces > cut.after)
    return 0 if over else len(event.data)


async def _break(how: How, wire: ServerWire, out: Answering) -> None:
    match how:
        case How.RESET:
            out.reset()
        case How.CLOSE:
            await out.close()
        case How.END:
            await out.chunk(b"")
        case How.SILENCE:
            await out.silence()
        case How.ERROR:
            await out.chunk(wire.error_event().data)
            await out.chunk(b"")
        case _:
            assert_never(how)
    if how in (How.RESET, How.CLOSE, How.SILENCE):
        raise ConnectionAbortedError("cut as scripted")


async def _whole(step: Speak, about: About, wire: ServerWire, out: Answering) -> None:
    await asyncio.sleep(step.first)
    body = wire.whole(step, about)
    if step.cut is None:
        await out.whole(200, body)
        return
    kept = body[: step.cut.after] if step.cut.unit is CutUnit.BYTES else body[: len(body) // 2]
    if step.cut.how in (How.END, How.ERROR):
        await out.whole(200, kept)
        return
    await out.head(200, "application/json", length=len(body))
    await out.raw(kept)
    await _break(step.cut.how, wire, out)
