"""Requests of every shape, for the tests of the wires."""

import msgspec
from msgspec import Raw

from angelia.context.request import (
    ModelRequest,
    Opened,
    OpenedBytes,
    OpenedText,
    OpenMedia,
    RequestMessage,
    Result,
    Role,
    Shown,
    ToolSpec,
)
from angelia.core.content import BlobRef, CallStatus, Form, Media, MediaKind, ProviderBlock, Text, Thinking, ToolCall
from angelia.core.ids import CallId
from angelia.core.profile import Profile
from angelia.http.server import HttpServer
from angelia.models.catalog.vendors import profile
from angelia.models.context import GetServer
from angelia.models.port import Credential
from angelia.models.wires import anthropic, openai_chat, openai_responses
from angelia.models.wires.wire import Wire

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(40))
PDF = b"%PDF-1.7\n%%EOF\n"
KEY = Credential("test", "sk-very-secret")
TOOL = ToolSpec("shell", "Runs a command.", Raw(b'{"type":"object","properties":{"command":{"type":"string"}}}'))

WIRES: dict[str, type[openai_chat.ChatWire | openai_responses.ResponsesWire | anthropic.MessagesWire]] = {
    "openai-chat": openai_chat.ChatWire,
    "openai-responses": openai_responses.ResponsesWire,
    "anthropic": anthropic.MessagesWire,
}
MODELS = {
    "openai-chat": profile("openai-chat:gpt-5"),
    "openai-responses": profile("openai:gpt-5"),
    "anthropic": profile("anthropic:claude-opus-5"),
}
"""One model per wire."""


def always(server: HttpServer) -> GetServer:
    """The same server, whenever one is asked for."""

    async def given() -> HttpServer:
        return server

    return given


async def open_media(shown: Shown) -> tuple[Opened, ...]:
    """Opens every picture as PNG and every document as PDF; as text in the form of text, one piece a page."""
    if shown.form is not Form.NATIVE:
        return tuple(OpenedText(f"{shown.media.name}, page {page}") for page in range(1, shown.media.pages + 1))
    if shown.media.media is MediaKind.DOCUMENT:
        return (OpenedBytes("application/pdf", PDF),)
    return tuple(OpenedBytes("image/png", PNG + bytes([page])) for page in range(shown.media.pages or 1))


def wire(name: str, model: Profile | None = None, opener: OpenMedia = open_media) -> Wire:
    """The wire of that name, for its model in `MODELS` or another."""
    return WIRES[name](model or MODELS[name], opener)


def photo(name: str = "photo.png", pages: int = 0) -> Shown:
    """A picture, or a file that opens as several."""
    return Shown(Media(BlobRef("ab" * 32, len(PNG), "image/png"), MediaKind.IMAGE, name, pages=pages), Form.NATIVE)


def paper(form: Form = Form.NATIVE) -> Shown:
    """A PDF of two pages."""
    media = Media(BlobRef("cd" * 32, len(PDF), "application/pdf"), MediaKind.DOCUMENT, "paper.pdf", pages=2)
    return Shown(media, form)


def call(
    name: str, arguments: str = '{"command":"ls"}', wire_id: str = "", native: ProviderBlock | None = None
) -> ToolCall:
    """A call with our id `name`."""
    return ToolCall(CallId(name), "shell", arguments, wire_id, native)


def result(name: str, *parts: Text | Shown, status: CallStatus = CallStatus.OK, wire_id: str = "") -> Result:
    """What that call came to."""
    return Result(CallId(name), "shell", status, parts, wire_id)


def user(seq: int, *parts: Text | Shown) -> RequestMessage:
    """Somebody says something."""
    return RequestMessage(seq, Role.USER, parts)


def said(seq: int, *parts: Text | Thinking | ToolCall | ProviderBlock, maker: str = "") -> RequestMessage:
    """A reply."""
    return RequestMessage(seq, Role.ASSISTANT, parts, maker)


def results(seq: int, *parts: Result) -> RequestMessage:
    """The results of the reply before."""
    return RequestMessage(seq, Role.TOOL, parts)


def request(
    *messages: RequestMessage,
    model: Profile | None = None,
    system: str = "Be kind.",
    tools: tuple[ToolSpec, ...] = (TOOL,),
    generation: int = 1,
    max_output: int = 0,
    effort: str = "",
) -> ModelRequest:
    """A request with these messages."""
    chosen = model or MODELS["openai-chat"]
    return ModelRequest(chosen, system, tools, messages, generation, max_output, effort)


def raw(value: object) -> Raw:
    """A value as raw JSON."""
    return Raw(msgspec.json.encode(value))


TALK = (
    user(1, Text("What is in these?"), photo(), paper(), photo("scan.tiff", pages=3), paper(Form.TEXT_OR_PAGES)),
    said(2, Text("Let me look."), call("c2_0"), call("c2_1", "{}"), call("c2_2", "{broken")),
    results(
        5,
        result("c2_0", Text("one"), photo(), Text("two")),
        result("c2_1", status=CallStatus.ERROR),
        result("c2_2", Text("These arguments are not JSON."), paper(), status=CallStatus.BAD_CALL),
    ),
    said(6, Thinking("Hm."), Text("A cat, and a paper about cats.")),
    user(7, Text("Thanks."), Text("And now?")),
)
"""Every shape that a message can have."""
