"""A conversation as steps, which every format of others is written from; pure.

All that was said stands in it, also what the model's view has folded since. A reply comes with the results of its
calls; what people or we said while those ran comes after them, as it came to the model.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from angelia.context.request import ToolSpec
from angelia.core import entry as e
from angelia.core.content import CallStatus, Content, Text, Thinking, ToolCall


class StepSource(StrEnum):
    """Who speaks in a step."""

    USER = "user"
    MODEL = "model"
    SYSTEM = "system"
    """We did: a note for the model that is no person's word."""


class CallResult(Struct, frozen=True):
    """What a call came to. Every call has one: of one without, nobody knows."""

    status: CallStatus
    parts: tuple[Content, ...]


NEVER_KNOWN = CallResult(CallStatus.UNKNOWN, (Text("Nobody knows what came of this call."),))


class TrajectoryStep(Struct, frozen=True):
    """One step. `at` is Unix milliseconds; `cost` is millionths of a US dollar, -1 when unknown."""

    source: StepSource
    at: int
    parts: tuple[Content, ...] = ()
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[CallResult, ...] = ()
    model: str = ""
    usage: e.Usage = e.Usage()
    cost: int = -1

    @property
    def text(self) -> str:
        """Its words alone."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


class Trajectory(Struct, frozen=True):
    """A conversation with the prompt and the tools that were last in force. `about` is what else is known of it, for
    whoever reads it: the model's settings, how turns ended, what a check said.
    """

    conversation: str
    steps: tuple[TrajectoryStep, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    model: str = ""
    about: dict[str, Any] = field(default_factory=dict)


def trajectory_steps(entries: Sequence[e.Entry]) -> list[TrajectoryStep]:
    """The steps of a log."""
    fold = _Fold()
    for entry in entries:
        fold.take(entry)
    return fold.done()


def call_arguments(call: ToolCall) -> dict[str, Any]:
    """What a model wrote as arguments; what is no object stands in one, under `raw`."""
    try:
        read = msgspec.json.decode(call.arguments)
    except msgspec.MsgspecError:
        read = None
    return read if isinstance(read, dict) else {"raw": call.arguments}


class _Fold:
    def __init__(self) -> None:
        self._steps: list[TrajectoryStep] = []
        self._waiting: list[TrajectoryStep] = []
        self._results: dict[str, CallResult] = {}

    def take(self, entry: e.Entry) -> None:
        """One entry further."""
        match entry.fact:
            case e.Opening(parts=parts):
                self._waiting.append(TrajectoryStep(StepSource.USER, entry.at, parts))
            case e.SystemSaid(text=text):
                self._waiting.append(TrajectoryStep(StepSource.SYSTEM, entry.at, (Text(text),)))
            case e.ModelSaid() as fact:
                self._settle()
                self._steps.append(_reply(entry.at, fact))
                self._results = {}
            case e.ToolFinished(call=call, status=status, parts=parts):
                self._results[call] = CallResult(status, parts)
            case _:
                pass

    def _settle(self) -> None:
        """The last reply has its results now, and what was said meanwhile follows."""
        if self._steps and self._steps[-1].calls:
            results = tuple(self._results.get(call.id, NEVER_KNOWN) for call in self._steps[-1].calls)
            self._steps[-1] = replace(self._steps[-1], results=results)
        self._steps += self._waiting
        self._waiting = []

    def done(self) -> list[TrajectoryStep]:
        """All of them."""
        self._settle()
        return self._steps


def _reply(at: int, fact: e.ModelSaid) -> TrajectoryStep:
    calls = tuple(part for part in fact.parts if isinstance(part, ToolCall))
    thinking = "\n".join(part.text for part in fact.parts if isinstance(part, Thinking)).strip()
    text = tuple(Text(part.text) for part in fact.parts if isinstance(part, Text) and part.text)
    return TrajectoryStep(StepSource.MODEL, at, text, thinking, calls, (), fact.model, fact.usage, fact.cost)
