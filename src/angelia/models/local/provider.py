"""The embedded model: small weights from a package, run in this process, so that Angelia answers without any vendor.

Small weights do small things: read, write and change a file, run a command, send one, a few steps in a row. How they
are brought to it is in `steps`. Everything is greedy, so the same request brings the same reply (as far as floating
point allows when a cached prefix is used).
"""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from angelia.context.request import ModelRequest, OpenMedia
from angelia.core.content import Text, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.errors import ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId
from angelia.core.profile import Ability, Prices, Profile
from angelia.core.text import clean
from angelia.models.context import ProviderContext
from angelia.models.local.chat import chat_beginning, chat_of, introduction, named_wrongly
from angelia.models.local.engine import ANSWERING, DECIDING, ENGINE, Chunk, LocalModel
from angelia.models.local.runtime import load_runtime
from angelia.models.local.steps import (
    FOLDER,
    LABELS,
    MOST_STEPS,
    SAY,
    CurrentTurn,
    NextStep,
    current_turn,
    label_grammar,
    parsed_step,
    repeats,
    static_chat,
    step_chat,
    step_grammar,
)
from angelia.models.local.unasked import unnamed_change, unnamed_loss, unspoken_file
from angelia.models.local.verification import names_file, unverified
from angelia.models.local.weights import found_weights, window_of
from angelia.models.port import CallBegun, Credential, Piece, Reply, TextDelta
from angelia.models.wires.decoding import refuse

_STREAMED = {"stream_options": {"include_usage": True}}
"""Asked of every completion. No penalty on repetition: with one, SmolLM2 no longer quotes what it was given."""
MOST_OUTPUT = 1024
"""Tokens of one reply: a model this small that has not ended by then is repeating itself."""


def local_profile(model: str, folder: Path) -> Profile:
    """What the weights can do; `model` is a name of `WEIGHTS`, whose files are in `folder`, or the path of a GGUF file.

    Raises:
        BadInput: the file is missing, or is not a GGUF file.
    """
    no = Ability.NO
    return Profile(
        name=f"local:{model}",
        vendor="local",
        model=model,
        wire="local",
        window=window_of(model, folder),
        max_output=MOST_OUTPUT,
        images=no,
        documents=no,
        audio=no,
        tools=Ability.YES,
        thinking=no,
        prices=Prices(0.0, 0.0, 0.0, 0.0),
    )


def open_provider(profile: Profile, context: ProviderContext) -> "LocalProvider":
    """The provider of the embedded model; it speaks to nobody, so it needs neither client nor time-outs."""
    return LocalProvider(profile, context.open_media, context.weights)


class LocalProvider:
    """One file of weights, loaded at the first request."""

    def __init__(self, profile: Profile, open_media: OpenMedia, folder: Path) -> None:
        """Nothing is loaded yet.

        Raises:
            MissingPart: the runtime is not installed, or cannot be loaded here.
            BadInput: the weights are not on this machine; says how to get them.
        """
        load_runtime()  # what is told before the first message is no fault in the middle of a turn
        self._profile, self._open = profile, open_media
        self._folder = folder
        self._weights = found_weights(profile.model, folder)

    def session(self) -> "LocalSession":
        """A session; what was read before is kept by the engine."""
        return LocalSession(self._profile, self._weights, self._folder, self._open)


class LocalSession:
    """One conversation with the embedded model."""

    def __init__(self, profile: Profile, weights: Path, folder: Path, open_media: OpenMedia) -> None:
        self._profile = profile
        self._model = LocalModel(weights, profile.window, folder)
        self._open = open_media

    async def ask(self, request: ModelRequest, credential: Credential) -> AsyncIterator[Piece]:
        """See `Session.ask`. Requests of all conversations wait for each other."""
        turn, tools = current_turn(request.messages), [tool.name for tool in request.tools]
        ways = self._step if turn.done else self._first
        talks = turn.shows_media or not set(tools) & set(LABELS.values())
        async with contextlib.aclosing(self._answer(request) if talks else ways(request, turn, tools)) as pieces:
            async for piece in pieces:
                yield piece

    async def _first(self, request: ModelRequest, turn: CurrentTurn, tools: list[str]) -> AsyncGenerator[Piece]:
        """Decide whether there is anything to do: then the folder is looked at, without asking; else it is a talk."""
        usage, acts = Usage(), names_file(turn.wish)
        if not acts:
            chat = step_chat(turn, request.messages)
            label = await self._written(request, chat, {"grammar": label_grammar(tools), "max_tokens": 3})
            usage, acts = label.usage, not label.text.startswith(SAY)
        if acts and "read" in tools:
            yield CallBegun("read")
            yield _called(NextStep("read", {"path": FOLDER}), usage)
            return
        ways = self._step(request, turn, tools) if acts else self._answer(request)
        async with contextlib.aclosing(ways) as pieces:
            async for piece in pieces:
                yield piece

    async def _step(self, request: ModelRequest, turn: CurrentTurn, tools: list[str]) -> AsyncGenerator[Piece]:
        """One step; words are told as they are made, and a call that had better not be made becomes another."""
        chat, act, spared = step_chat(turn, request.messages), len(turn.done) < MOST_STEPS, ""
        while True:
            collected, told = _Collected(), 0
            fields = {"grammar": step_grammar(turn, tools, act=act), "max_tokens": MOST_OUTPUT}
            wanted = {"messages": chat, "id_slot": DECIDING, **fields}
            async with contextlib.aclosing(self._run(request, wanted)) as chunks:
                async for chunk in chunks:
                    collected.add(chunk)
                    if collected.text.startswith(_SAID):
                        words = collected.text.removeprefix(_SAID)
                        if words[told:]:
                            yield TextDelta(words[told:])
                        told = len(words)
            collected.settle()
            step = parsed_step(collected.text)
            spared = _spared(step, turn) or spared
            if step.label == SAY or not (repeats(step, turn) or spared):
                break
            act = False
        if unnamed := unnamed_loss(step, turn):
            step = NextStep(SAY, {}, _ASKING.format(command=step.arguments.get("command"), lost=unnamed))
            yield TextDelta(step.words)
        elif step.label == SAY and (note := spared or unverified(turn, step.words)):
            yield TextDelta(f"\n{note}")
            step = step._replace(words=f"{step.words}\n{note}")
        if step.label == SAY:
            yield Reply((Text(step.words),), collected.stop or StopReason.END, collected.usage)
            return
        path = str(step.arguments.get("path", ""))
        if step.label in {"edit", "write"} and path in turn.names() and turn.holds(path) is None:
            step = NextStep("read", {"path": path})
        yield CallBegun(step.call[0])
        cut = collected.stop is StopReason.LENGTH
        yield _called(step, collected.usage, StopReason.LENGTH if cut else StopReason.TOOL_CALLS)

    def _run(self, request: ModelRequest, fields: Mapping[str, Any]) -> AsyncGenerator[Chunk]:
        talk = chat_beginning(request.system, introduction(self._profile.model))
        return ENGINE.run(self._model, {DECIDING: static_chat(), ANSWERING: talk}, {**_STREAMED, **fields})

    async def _written(
        self, request: ModelRequest, chat: list[dict[str, str]], fields: Mapping[str, Any]
    ) -> "_Collected":
        collected = _Collected()
        wanted = {"messages": chat, "id_slot": DECIDING, **fields}
        async with contextlib.aclosing(self._run(request, wanted)) as chunks:
            async for chunk in chunks:
                collected.add(chunk)
        return collected

    async def _answer(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Words, as they are made."""
        most = min(request.max_output or MOST_OUTPUT, MOST_OUTPUT)
        messages = await chat_of(request, self._open, introduction(self._profile.model))
        wanted = {"messages": messages, "id_slot": ANSWERING, "max_tokens": most}
        collected = _Collected()
        try:
            async with contextlib.aclosing(self._run(request, wanted)) as chunks:
                async for chunk in chunks:
                    if text := collected.add(chunk):
                        yield TextDelta(text)
            collected.settle()
        except ModelError as failed:
            raise ModelError(failed.failure, collected.parts()) from failed
        if note := named_wrongly(collected.text, self._profile.model):
            yield TextDelta(f"\n{note}")
            collected.text += f"\n{note}"
        yield Reply(collected.parts(), collected.stop or StopReason.END, collected.usage)


_SAID = f"{SAY}: "
_UNSPOKEN = "({path} is as it was: I would have written in it, and nobody spoke of it. Name it, and I do it.)"
_UNASKED = "(No file was made: I would have written {path}, and none was asked for. Name it, and I write it.)"
_SPARED = "({path} is as it was: I would have changed words in it that you did not name. Name what is to stand there.)"
_ASKING = "I would run `{command}`, and it would take {lost} away, which you did not name. Name it, and I do it."


def _spared(step: NextStep, turn: CurrentTurn) -> str:
    """What the person reads of a change that is not made, because nobody asked for it; empty if it may be made."""
    if path := unspoken_file(step, turn):
        return (_UNSPOKEN if path in turn.names() else _UNASKED).format(path=path)
    path = unnamed_change(step, turn)
    return _SPARED.format(path=path) if path else ""


def _called(step: NextStep, usage: Usage, stop: StopReason = StopReason.TOOL_CALLS) -> Reply:
    name, arguments = step.call
    return Reply((ToolCall(CallId(""), name, arguments),), stop, usage)


class _Collected:
    """What a completion has brought so far."""

    def __init__(self) -> None:
        self.text, self.usage = "", Usage()
        self.stop: StopReason | None = None

    def add(self, chunk: Chunk) -> str:
        """Take one chunk; returns the text in it.

        Raises:
            ModelError: llama.cpp refuses the request; CONTEXT_TOO_LONG carries the window as its limit.
        """
        if chunk.get("error"):
            refuse(msgspec.json.encode(chunk))
        if counted := chunk.get("usage"):
            cached = (counted.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            self.usage = Usage(counted["prompt_tokens"], counted["completion_tokens"], cached)
        text = ""
        for choice in chunk.get("choices") or ():
            text += clean(choice.get("text") or (choice.get("delta") or {}).get("content") or "")
            if ended := choice.get("finish_reason"):
                self.stop = StopReason.LENGTH if ended == "length" else StopReason.END
        self.text += text
        return text

    def settle(self) -> None:
        """Make sure that the reply is whole.

        Raises:
            ModelError: STREAM_CUT; there was no finish reason.
        """
        if self.stop is None:
            raise ModelError(Failure(FailureKind.STREAM_CUT, said="The embedded model stopped in mid-reply."))

    def parts(self) -> tuple[Text, ...]:
        """The reply's text, if there is any."""
        return (Text(self.text),) if self.text else ()
