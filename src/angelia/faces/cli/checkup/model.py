"""Looks at the model: its key, its window, and whether it answers, calls tools and sees pictures."""

import asyncio
import struct
import time
import zlib
from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct

from angelia.context.budget import ASSUMED_WINDOW
from angelia.context.request import MessagePart, ModelRequest, RequestMessage, Role, Shown, ToolSpec
from angelia.core.content import Form, Text, ToolCall
from angelia.core.errors import AngeliaError, ModelError
from angelia.core.profile import Ability
from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.faces.cli.checkup.learnt import look_at_learnt_limits
from angelia.faces.words.transcript_lines import FAILURES
from angelia.models.catalog.prices import PriceBook
from angelia.models.port import Reply
from angelia.service.app import App
from angelia.service.models.choice import choose

SECONDS = 120.0
"""How long an answer may take; a model on this machine may have to be loaded first."""

MOST_OUTPUT = 2_000
"""Tokens of an answer: enough for a model that thinks first."""

_SYSTEM = "You are being tested. Do exactly what is asked, in as few words as possible."
_TOOL = ToolSpec(
    "note_colour",
    "Notes a colour.",
    msgspec.Raw(b'{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"]}'),
)


class _Answer(Struct, frozen=True):
    """A reply, and how many seconds its first piece and the whole took."""

    reply: Reply
    first: float
    whole: float

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(part.text for part in self.reply.parts if isinstance(part, Text)).strip()


async def look_at_model(app: App) -> AsyncIterator[CheckResult]:
    """Which model, its key and window; then three tiny requests, none after one that failed altogether."""
    choice = await choose(app.loaded.config.model, app.model_catalog, app.key_value, None)
    spec = choice.spec
    try:
        known = app.model_catalog.profile(spec)
        row = app.model_catalog.rows[known.vendor]
        await app.model_catalog.bound(spec, _SYSTEM, ())
    except AngeliaError as error:
        yield broken("model", error.what, error.then or error.why)
        return
    yield well("model", choice.because or spec)
    learnt = await asyncio.to_thread(PriceBook(app.loaded.home / "models.json").learn, spec, row.prices)
    if window := learnt.window or known.window:
        yield well("window", f"{window:,} tokens")
    else:
        mend = f"A refusal teaches the true one; or set window under [vendors.{known.vendor}]."
        yield absent("window", f"unknown; {ASSUMED_WINDOW:,} tokens are assumed", mend)
    async for finding in look_at_learnt_limits(app, spec):
        yield finding
    answered = await answers(app, spec)
    yield answered
    for told in app.model_catalog.notes:
        yield well("route", told)
    if answered.mend:
        return
    yield await _calls_tools(app, spec)
    yield await _sees(app, spec)


async def answers(app: App, spec: str) -> CheckResult:
    """Whether it says a word."""
    try:
        answer = await _ask(app, spec, Text("Say: ready"))
    except (AngeliaError, TimeoutError) as error:
        return broken(
            "answers", _why(error), "Look at key, address and model name; `angelia models` lists what there is."
        )
    if not answer.text:
        return broken("answers", "the reply was empty", "Try another model; `angelia models` lists what there is.")
    return well("answers", f"first words after {answer.first:.2f} s, whole after {answer.whole:.2f} s")


async def _calls_tools(app: App, spec: str) -> CheckResult:
    mend = "Choose a model that calls tools: without them nothing can be done in your files."
    try:
        answer = await _ask(app, spec, Text("Call the tool note_colour with the colour blue."), tools=(_TOOL,))
    except (AngeliaError, TimeoutError) as error:
        return broken("tools", _why(error), mend)
    calls = [part for part in answer.reply.parts if isinstance(part, ToolCall)]
    if not calls:
        return broken("tools", "it answered in words instead of calling a tool", mend)
    try:
        msgspec.json.decode(calls[0].arguments, type=dict[str, str])
    except msgspec.MsgspecError as error:
        return broken("tools", f"its call has arguments that are no valid JSON: {error}", mend)
    return well("tools", "calls tools")


async def _sees(app: App, spec: str) -> CheckResult:
    if app.model_catalog.profile(spec).images is Ability.NO:
        return absent(
            "pictures", "this model takes none", "Set describer to a model that sees, and pictures reach it in words."
        )
    media = await app.intake.to_media(red_png(64), "red.png")
    question = Text("Which colour is this picture? One word.")
    try:
        answer = await _ask(app, spec, question, Shown(media, Form.NATIVE))
    except (AngeliaError, TimeoutError) as error:
        return absent("pictures", _why(error), "Choose a model that sees, or set describer to one.")
    if "red" in answer.text.lower():
        return well("pictures", "sees pictures")
    return broken("pictures", f"shown a red square, it said {answer.text[:80]!r}", "Choose a model that sees.")


async def _ask(app: App, spec: str, *parts: MessagePart, tools: tuple[ToolSpec, ...] = ()) -> _Answer:
    bound = await app.model_catalog.bound(spec, _SYSTEM, tools)
    messages = (RequestMessage(1, Role.USER, parts),)
    request = ModelRequest(bound.profile, bound.system, tools, messages, generation=0, max_output=MOST_OUTPUT)
    began = time.monotonic()
    first = 0.0
    async with asyncio.timeout(SECONDS):
        async for piece in bound.session.ask(request, bound.credentials[0]):
            first = first or time.monotonic() - began
            if isinstance(piece, Reply):
                return _Answer(piece, first, time.monotonic() - began)
    raise AngeliaError("The stream ended without a reply.")


def _why(error: AngeliaError | TimeoutError) -> str:
    match error:
        case ModelError(failure=failure):
            return f"{FAILURES[failure.kind]}: {failure.said}" if failure.said else FAILURES[failure.kind]
        case TimeoutError():
            return f"no answer within {SECONDS:.0f} s"
        case _:
            return str(error)


def red_png(side: int) -> bytes:
    """A red square as PNG (https://www.w3.org/TR/png-3/, 11.2), `side` pixels wide."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + b"\xff\x00\x00" * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
