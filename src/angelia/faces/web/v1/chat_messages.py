"""The request of Chat Completions (https://platform.openai.com/docs/api-reference/chat/create), as far as it is taken.

Sampling and lengths are the model's own settings here: `temperature`, `top_p`, `max_tokens` and the like are accepted,
since every client sends some, and not used. What would change the answer's form is refused.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from angelia.core.content import Content, Media, Text
from angelia.core.text import clean
from angelia.faces.web.v1.intake import media_from_base64, media_from_url
from angelia.faces.web.v1.offered_tools import ChatToolForm
from angelia.faces.web.v1.refusals import ApiRefused, not_possible
from angelia.store.media.measure import Intake


class TextPart(Struct, tag_field="type", tag="text"):
    """Words."""

    text: str


class RefusalPart(Struct, tag_field="type", tag="refusal"):
    """What a model said instead of an answer."""

    refusal: str


class ImageUrl(Struct):
    """Where a picture is."""

    url: str


class ImagePart(Struct, tag_field="type", tag="image_url"):
    """A picture."""

    image_url: ImageUrl


class AudioData(Struct):
    """Sound, in base64."""

    data: str
    format: str


class AudioPart(Struct, tag_field="type", tag="input_audio"):
    """A recording."""

    input_audio: AudioData


class FileData(Struct):
    """A file, as a data URL."""

    file_data: str = ""
    filename: str = ""
    file_id: str = ""


class FilePart(Struct, tag_field="type", tag="file"):
    """A file."""

    file: FileData


MessagePart = TextPart | RefusalPart | ImagePart | AudioPart | FilePart


class CalledFunction(Struct):
    """A function as it was called."""

    name: str
    arguments: str = "{}"


class ChatCall(Struct):
    """A call that an assistant's message made."""

    id: str
    function: CalledFunction


class ChatMessage(Struct):
    """One message of the history that the program keeps. `tool_call_id` is set for the result of a call; `failed` is
    what Messages say of one.
    """

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[MessagePart] | None = None
    tool_calls: list[ChatCall] | None = None
    tool_call_id: str = ""
    failed: bool = False

    @property
    def parts(self) -> list[MessagePart]:
        """What it is made of."""
        if isinstance(self.content, str):
            return [TextPart(self.content)]
        return self.content or []

    @property
    def words(self) -> str:
        """Its text alone."""
        return "\n".join(one.text if isinstance(one, TextPart) else one.refusal for one in self._told())

    def _told(self) -> Iterator[TextPart | RefusalPart]:
        yield from (one for one in self.parts if isinstance(one, TextPart | RefusalPart))


class StreamOptions(Struct):
    """How it is streamed."""

    include_usage: bool = False


class ChatRequest(Struct):
    """The body of the request."""

    model: str
    messages: list[ChatMessage]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[ChatToolForm] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
    modalities: list[str] | None = None
    stop: str | list[str] | None = None
    metadata: dict[str, Any] | None = field(default=None)


def require_possible(asked: ChatRequest) -> None:
    """Nothing is asked for that would silently not be had.

    Raises:
        ApiRefused: something is; names the parameter.
    """
    kind = (asked.response_format or {}).get("type", "text")
    for param, given, why in (
        ("n", (asked.n or 1) > 1, "A conversation has one answer."),
        ("functions", bool(asked.functions), "They come as `tools`."),
        ("response_format", kind != "text", "Answers are words; ask for JSON in words."),
        ("logprobs", bool(asked.logprobs), "They are not kept."),
        ("modalities", "audio" in (asked.modalities or ()), "Answers are words."),
        ("stop", bool(asked.stop), "An answer ends by itself."),
    ):
        if given:
            raise not_possible(param, f"`{param}` cannot be had here.", why)
    if not asked.messages or asked.messages[-1].role not in ("user", "tool"):
        what = "The last message is neither a user's nor a tool's."
        raise ApiRefused(400, what, code="invalid_messages", param="messages")


async def contents(messages: list[ChatMessage], intake: Intake) -> list[Content]:
    """What these messages say and bring.

    Raises:
        ApiRefused: something of it cannot be taken.
    """
    return [
        await _content(part, intake, f"messages.{at}.content")
        for at, message in enumerate(messages)
        for part in message.parts
    ]


async def _content(part: MessagePart, intake: Intake, param: str) -> Content:
    match part:
        case TextPart(text=text):
            return Text(clean(text))
        case RefusalPart(refusal=refusal):
            return Text(clean(refusal))
        case ImagePart(image_url=ImageUrl(url=url)):
            return await media_from_url(intake, url, "", param)
        case AudioPart(input_audio=AudioData(data=data, format=kind)):
            return await media_from_base64(intake, data, f"recording.{kind[:8]}", param)
        case FilePart(file=FileData(file_data=data, filename=name)) if data:
            return await media_from_url(intake, data, name, param)
        case FilePart():
            raise not_possible(
                param, "A file comes with its bytes here.", "`file_data` is a data URL; ids are not kept."
            )


class ChatHistory(Struct, frozen=True):
    """A request's messages by what they are: how the program wants it, what was, the results that it brings, and what
    is said now.
    """

    instructions: str
    past: tuple[ChatMessage, ...]
    results: tuple[ChatMessage, ...]
    said: tuple[ChatMessage, ...]


def asked_in(messages: list[ChatMessage]) -> ChatHistory:
    """New are the results after the last answer, and what users say after these."""
    instructions = "\n\n".join(one.words for one in messages if one.role in ("system", "developer"))
    spoken = [one for one in messages if one.role not in ("system", "developer")]
    said = _behind(spoken, "user")
    results = _behind(spoken[: len(spoken) - len(said)], "tool")
    past = spoken[: len(spoken) - len(said) - len(results)]
    return ChatHistory(instructions, tuple(past), tuple(results), tuple(said))


def _behind(messages: list[ChatMessage], role: str) -> list[ChatMessage]:
    """The last messages, as long as they have this role."""
    first = next((at for at in range(len(messages), 0, -1) if messages[at - 1].role != role), 0)
    return messages[first:]


async def told_of_past(past: tuple[ChatMessage, ...], intake: Intake) -> list[Content]:
    """A history that is in no conversation of ours, told as what it is: the program's account of it.

    Raises:
        ApiRefused: something of it cannot be taken.
    """
    lines = [line for one in past for line in _told(one)]
    brought = [part for part in await contents(list(past), intake) if isinstance(part, Media)]
    told = "\n\n".join(("[Earlier in this conversation, as the program at this door tells it]", *lines))
    return [Text(told), *brought]


def _told(message: ChatMessage) -> Iterator[str]:
    if message.words.strip():
        yield f"{message.role}: {message.words}"
    for call in message.tool_calls or ():
        yield f"{message.role} called {call.function.name} with {call.function.arguments}"


def canonical(messages: tuple[ChatMessage, ...]) -> bytes:
    """What users said in these messages, the same bytes whether it came as a text or in parts."""
    said = [
        [["text", one.text] if isinstance(one, TextPart) else msgspec.to_builtins(one) for one in message.parts]
        for message in messages
        if message.role == "user"
    ]
    return msgspec.json.encode(said)
