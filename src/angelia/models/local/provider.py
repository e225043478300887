"""The embedded model: small weights from a package, run in this process, so that Angelia answers without any vendor.

What it can do, honestly: SmolLM2-135M holds a short chat, answers from a text it is given, and takes simple wishes
about files ("What is in notes.txt?", "List the files") to one tool call each. It does not plan, does not chain calls
(after a result it answers), reads 200 and writes 80 tokens a second, and is often wrong about facts. Weights with a
few times its size, named as `local:/path/to/weights.gguf`, choose tools well; see `local_calls` for numbers.

A reply is made in two steps, both constrained to what may be said: which tool, if any, then its arguments by the
tool's schema; or, with neither, words that stream as they are made. Everything is greedy, so the same request brings
the same reply (as far as floating point allows when a cached prefix is used).
"""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from angelia.context.request import ModelRequest, OpenMedia
from angelia.core.content import Text, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.errors import MissingPart, ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId
from angelia.core.profile import Ability, Prices, Profile
from angelia.core.text import clean
from angelia.models.context import ProviderContext
from angelia.models.local.chat import chat_of
from angelia.models.local.engine import ANSWERING, DECIDING, ENGINE, Chunk
from angelia.models.local.tool_calls import OfferedTool, decision_prompt, label_grammar, offers, wants_decision
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
            MissingPart: the runtime is not installed.
            BadInput: the weights are not on this machine; says how to get them.
        """
        if not find_spec("xllamacpp"):
            raise MissingPart("The embedded model", "local")
        self._profile, self._open = profile, open_media
        self._weights = found_weights(profile.model, folder)

    def session(self) -> "LocalSession":
        """A session; what was read before is kept by the engine."""
        return LocalSession(self._profile, self._weights, self._open)


class LocalSession:
    """One conversation with the embedded model."""

    def __init__(self, profile: Profile, weights: Path, open_media: OpenMedia) -> None:
        self._profile = profile
        self._weights = weights
        self._open = open_media

    async def ask(self, request: ModelRequest, credential: Credential) -> AsyncIterator[Piece]:
        """See `Session.ask`. Requests of all conversations wait for each other."""
        offered = offers(request.tools)
        if offered and wants_decision(request.messages):
            prompt = decision_prompt(request.messages, offered)
            label = await self._written(prompt, {"grammar": label_grammar(offered), "max_tokens": 8})
            if chosen := offered.get(label.text.strip()):
                yield CallBegun(chosen.name)
                yield await self._call(f"{prompt}{label.text}:", chosen, label.usage)
                return
        async with contextlib.aclosing(self._answer(request)) as pieces:
            async for piece in pieces:
                yield piece

    async def _call(self, prompt: str, chosen: OfferedTool, deciding: Usage) -> Reply:
        """The chosen tool's arguments, complete by its schema unless the reply runs into its limit."""
        written = await self._written(prompt, {"json_schema": chosen.schema, "max_tokens": MOST_OUTPUT})
        call = ToolCall(CallId(""), chosen.name, written.text.strip())
        stop = StopReason.LENGTH if written.stop is StopReason.LENGTH else StopReason.TOOL_CALLS
        usage = msgspec.structs.replace(written.usage, output=written.usage.output + deciding.output)
        return Reply((call,), stop, usage)

    async def _written(self, prompt: str, fields: Mapping[str, Any]) -> "_Collected":
        collected = _Collected()
        wanted = {**_STREAMED, "prompt": prompt, "id_slot": DECIDING, **fields}
        async with contextlib.aclosing(ENGINE.run(self._weights, self._profile.window, wanted)) as chunks:
            async for chunk in chunks:
                collected.add(chunk)
        collected.settle()
        return collected

    async def _answer(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Words, as they are made."""
        most = min(request.max_output or MOST_OUTPUT, MOST_OUTPUT)
        messages = await chat_of(request, self._open)
        wanted = {**_STREAMED, "messages": messages, "id_slot": ANSWERING, "max_tokens": most}
        collected = _Collected()
        try:
            async with contextlib.aclosing(ENGINE.run(self._weights, self._profile.window, wanted)) as chunks:
                async for chunk in chunks:
                    if text := collected.add(chunk):
                        yield TextDelta(text)
            collected.settle()
        except ModelError as failed:
            raise ModelError(failed.failure, collected.parts()) from failed
        yield Reply(collected.parts(), collected.stop or StopReason.END, collected.usage)


class _Collected:
    """What a completion has brought so far."""

    def __init__(self) -> None:
        self.text, self.usage = "", Usage()
        self.stop: StopReason | None = None

    def add(self, chunk: Chunk) -> str:
        """Take one chunk; returns the text in it.

        Raises:
            ModelFailed: llama.cpp refuses the request; CONTEXT_TOO_LONG carries the window as its limit.
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
            ModelFailed: STREAM_CUT; there was no finish reason.
        """
        if self.stop is None:
            raise ModelError(Failure(FailureKind.STREAM_CUT, said="The embedded model stopped in mid-reply."))

    def parts(self) -> tuple[Text, ...]:
        """The reply's text, if there is any."""
        return (Text(self.text),) if self.text else ()
