"""A scripted model provider, in this process, without HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import assert_never

from msgspec.structs import replace

from angelia.context.request import ModelRequest, RequestMessage, Result
from angelia.core.content import ReplyPart, Text, Thinking, ToolCall
from angelia.core.entry import Usage
from angelia.core.errors import ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.models.port import CallBegun, Credential, Piece, Reply, TextDelta, ThinkingDelta
from angelia.testing.model.received import HeardCall, HeardResult, ReceivedMessage, check_pairs
from angelia.testing.model.script import ModelScript
from angelia.testing.model.steps import Cut, CutUnit, Fail, Garbage, Hang, How, Speak, Step
from angelia.testing.model.wire import bites, words

Answerer = Callable[[ModelRequest], Step]


class ScriptedProvider:
    """A model that does what its script says, and remembers what it was asked, and with which credentials.

    The script is a list of steps, of functions from request to step, or one such function.
    A request that leaves a call without its result raises `Complaint`; one too many raises `ScriptOver`.
    """

    def __init__(self, script: Answerer | Sequence[Step | Answerer]) -> None:
        self.script = ModelScript(script)
        self.requests: list[ModelRequest] = []
        self.credentials: list[str] = []

    def session(self) -> "ScriptedSession":
        """A session; all sessions take from the one script."""
        return ScriptedSession(self)


class ScriptedSession:
    """One conversation's use of the provider."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self._provider = provider

    async def ask(self, request: ModelRequest, credential: Credential) -> AsyncIterator[Piece]:
        """Perform the next step; see `models.port.ProviderSession`."""
        check_pairs([_said(message) for message in request.messages])
        self._provider.requests.append(request)
        self._provider.credentials.append(credential.label)
        step = self._provider.script.step(request)
        match step:
            case Speak():
                async for piece in _speak(step, request, len(self._provider.requests)):
                    yield piece
            case Fail():
                said = step.said or f"scripted: {step.kind} {step.about}".strip()
                wait = round(step.retry_after * 1000)
                raise ModelError(Failure(step.kind, said, step.status, wait, step.limit))
            case Garbage(body=body):
                raise ModelError(Failure(FailureKind.STREAM_CUT, f"no reply: {body[:100]}", 200))
            case Hang():
                await asyncio.Event().wait()
            case _:
                assert_never(step)


async def _speak(step: Speak, request: ModelRequest, number: int) -> AsyncIterator[Piece]:
    arrived: dict[int, str] = {}
    for count, (index, piece, text) in enumerate(_pieces(step.parts)):
        await asyncio.sleep(step.between if count else step.first)
        if step.cut and _over(step.cut, count, sum(map(len, arrived.values()))):
            break
        arrived[index] = arrived.get(index, "") + text
        if piece is not None:
            yield piece
    if step.cut is None:
        yield Reply(_named(step, number), step.stop, step.usage or _estimate(request, step))
    elif step.cut.how is How.SILENCE:
        await asyncio.Event().wait()
    else:
        partial = tuple(_part(step.parts[index], text) for index, text in arrived.items())
        raise ModelError(Failure(FailureKind.STREAM_CUT, f"scripted: {step.cut.how}"), partial)


def _pieces(parts: Sequence[Text | Thinking | ToolCall]) -> Iterator[tuple[int, Piece | None, str]]:
    """Number of the part, what a session yields for the piece, and its text."""
    for index, part in enumerate(parts):
        match part:
            case Text(text=text):
                yield from ((index, TextDelta(word), word) for word in words(text))
            case Thinking(text=text):
                yield from ((index, ThinkingDelta(word), word) for word in words(text))
            case ToolCall(name=name, arguments=arguments):
                yield index, CallBegun(name), ""
                yield from ((index, None, bite) for bite in bites(arguments))
            case _:
                assert_never(part)


def _over(cut: Cut, pieces: int, characters: int) -> bool:
    return cut.after <= (characters if cut.unit is CutUnit.BYTES else pieces)


def _part(part: Text | Thinking | ToolCall, arrived: str) -> ReplyPart:
    return replace(part, arguments=arrived) if isinstance(part, ToolCall) else replace(part, text=arrived)


def _named(step: Speak, number: int) -> tuple[ReplyPart, ...]:
    return tuple(
        replace(part, wire_id=f"call_{number}x{index}") if isinstance(part, ToolCall) and not part.wire_id else part
        for index, part in enumerate(step.parts)
    )


def _estimate(request: ModelRequest, step: Speak) -> Usage:
    said = sum(len(part.arguments if isinstance(part, ToolCall) else part.text) for part in step.parts)
    heard = sum(len(_said(message).text) for message in request.messages)
    return Usage((len(request.system) + heard) // 4 + 1, said // 4 + 1)


def _said(message: RequestMessage) -> ReceivedMessage:
    """A message as the scripted server would have heard it."""
    results = [part for part in message.parts if isinstance(part, Result)]
    return ReceivedMessage(
        message.role.value,
        "\n".join(part.text for part in message.parts if isinstance(part, Text)),
        calls=tuple(
            HeardCall(part.id, part.name, part.arguments) for part in message.parts if isinstance(part, ToolCall)
        ),
        results=tuple(
            HeardResult(one.call, "\n".join(part.text for part in one.parts if isinstance(part, Text)))
            for one in results
        ),
    )
