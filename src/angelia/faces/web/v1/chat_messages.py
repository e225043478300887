"""The request of Chat Completions (https://platform.openai.com/docs/api-reference/chat/create), as far as it is taken.

Sampling and lengths are the model's own settings here: `temperature`, `top_p`, `max_tokens` and the like are accepted,
since every client sends some, and not used. What would change the answer's form is refused.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from angelia.core.content import Content, Media, Text
from angelia.faces.web.v1.intake import media_from_base64, media_from_url
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


class ChatMessage(Struct):
    """One message of the history that the program keeps."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[MessagePart] | None = None

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
    tools: list[Any] | None = None
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
        ("tools", bool(asked.tools), "Angelia works with tools of her own; a program's cannot be called yet."),
        ("functions", bool(asked.functions), "Angelia works with tools of her own."),
        ("response_format", kind != "text", "Answers are words; ask for JSON in words."),
        ("logprobs", bool(asked.logprobs), "They are not kept."),
        ("modalities", "audio" in (asked.modalities or ()), "Answers are words."),
        ("stop", bool(asked.stop), "An answer ends by itself."),
    ):
        if given:
            raise not_possible(param, f"`{param}` cannot be had here.", why)
    if not asked.messages or asked.messages[-1].role != "user":
        raise ApiRefused(400, "The last message is not a user's.", code="invalid_messages", param="messages")


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
            return Text(text)
        case RefusalPart(refusal=refusal):
            return Text(refusal)
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
    """A request's messages by what they are: how the program wants it, what was, and what is new."""

    instructions: str
    past: tuple[ChatMessage, ...]
    said: tuple[ChatMessage, ...]


def asked_in(messages: list[ChatMessage]) -> ChatHistory:
    """New is what users say after the last message of anybody else."""
    instructions = "\n\n".join(one.words for one in messages if one.role in ("system", "developer"))
    spoken = [one for one in messages if one.role not in ("system", "developer")]
    first = next((at for at in range(len(spoken), 0, -1) if spoken[at - 1].role != "user"), 0)
    return ChatHistory(instructions, tuple(spoken[:first]), tuple(spoken[first:]))


async def told_of_past(past: tuple[ChatMessage, ...], intake: Intake) -> list[Content]:
    """A history that is in no conversation of ours, told as what it is: the program's account of it.

    Raises:
        ApiRefused: something of it cannot be taken.
    """
    lines = [f"{one.role}: {one.words}" for one in past if one.words.strip()]
    brought = [part for part in await contents(list(past), intake) if isinstance(part, Media)]
    told = "\n\n".join(("[Earlier in this conversation, as the program at this door tells it]", *lines))
    return [Text(told), *brought, Text("[What is said now]")]


def canonical(messages: tuple[ChatMessage, ...]) -> bytes:
    """What users said in these messages, the same bytes whether it came as a text or in parts."""
    said = [
        [["text", one.text] if isinstance(one, TextPart) else msgspec.to_builtins(one) for one in message.parts]
        for message in messages
        if message.role == "user"
    ]
    return msgspec.json.encode(said)
