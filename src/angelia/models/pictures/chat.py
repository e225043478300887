"""Painters that answer as a conversation does, with pictures among the words: Gemini and OpenRouter.

* `gemini` (ai.google.dev, "Image generation"; `generateContent`): shapes by `imageConfig.aspectRatio`, pictures in and
  out as `inlineData`. A prompt or a picture that is declined comes with 200 and a reason.
* `openrouter` (openrouter.ai/docs, "Image Generation"): Chat Completions with `modalities`; pictures come as data URLs
  in `message.images`, and the price stands in `usage.cost`.
"""

from base64 import b64encode
from collections.abc import Mapping
from math import ceil
from typing import Any

from msgspec import Struct

from angelia.core.text import one_line
from angelia.models.pictures.context import PainterContext, PictureTokens
from angelia.models.pictures.fitting import size_text
from angelia.models.pictures.picture_urls import brought, data_url, from_base64
from angelia.models.pictures.port import (
    AspectRatio,
    FetchPicture,
    PaintedPictures,
    Painter,
    PaintFailed,
    PaintTrouble,
    PaintWish,
    TellProgress,
)
from angelia.models.pictures.requests import PaintRequest, PaintServer, RawReply, decoded, most_of
from angelia.models.pictures.table_painter import TablePainter
from angelia.models.wires.wire import bearer

_DECLINED = frozenset(
    {
        *("SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT", "BLOCKLIST", "SPII"),
        *("RECITATION", "IMAGE_RECITATION"),
    }
)
"""Reasons with which Gemini ends without a picture because of what it would show (reference, `FinishReason`)."""


class ChatPictures(Struct, frozen=True):
    """What a reply holds: pictures, the words beside them, what it took, and why there is no picture if it says so.

    `notes` are sentences on pictures that it names and that cannot be had.
    """

    pictures: tuple[bytes, ...]
    words: str
    cost: int
    declined: str = ""
    notes: tuple[str, ...] = ()


class _GeminiModel(Struct, frozen=True, rename="camel"):
    """A part of Gemini's JSON, whose names are in camel case."""


class _InlineData(_GeminiModel, frozen=True):
    data: str
    mime_type: str = ""


class _GeminiPart(_GeminiModel, frozen=True):
    text: str = ""
    inline_data: _InlineData | None = None
    thought: bool = False


class _GeminiContent(_GeminiModel, frozen=True):
    parts: tuple[_GeminiPart, ...] = ()


class _GeminiCandidate(_GeminiModel, frozen=True):
    content: _GeminiContent = _GeminiContent()
    finish_reason: str = ""


class _GeminiTokens(_GeminiModel, frozen=True):
    modality: str = ""
    token_count: int = 0


class _GeminiUsage(_GeminiModel, frozen=True):
    prompt_token_count: int = 0
    candidates_token_count: int = 0
    thoughts_token_count: int = 0
    candidates_tokens_details: tuple[_GeminiTokens, ...] = ()


class _GeminiFeedback(_GeminiModel, frozen=True):
    block_reason: str = ""


class _GeminiReply(_GeminiModel, frozen=True):
    candidates: tuple[_GeminiCandidate, ...] = ()
    prompt_feedback: _GeminiFeedback = _GeminiFeedback()
    usage_metadata: _GeminiUsage = _GeminiUsage()


class _ImageUrl(Struct, frozen=True):
    url: str


class _ChatImage(Struct, frozen=True):
    image_url: _ImageUrl


class _ChatImageMessage(Struct, frozen=True):
    content: str | None = None
    refusal: str | None = None
    images: tuple[_ChatImage, ...] = ()


class _ChatImageChoice(Struct, frozen=True):
    message: _ChatImageMessage


class _ChatImageUsage(Struct, frozen=True):
    cost: float | None = None


class _ChatImageReply(Struct, frozen=True):
    choices: tuple[_ChatImageChoice, ...] = ()
    usage: _ChatImageUsage = _ChatImageUsage()


def open_painter(context: PainterContext) -> Painter:
    """The painter of one model."""
    return ChatPainter(context)


class ChatPainter(TablePainter):
    """See `models.pictures.port.Painter`."""

    async def paint(self, wish: PaintWish, fetch: FetchPicture, tell: TellProgress) -> PaintedPictures:
        """Paint once.

        Raises:
            PaintFailed: there is no picture; what the model said instead is told as its words.
        """
        context = self._context
        credential = await context.credential()
        client = (await context.server()).client
        gemini = context.row.dialect == "gemini"
        headers = {"x-goog-api-key": credential.secret} if gemini else bearer(credential)
        base = str(client.base_url).rstrip("/").removesuffix("/openai")
        request = gemini_request(base, context.model, wish) if gemini else openrouter_request(context, wish)
        server = PaintServer(client, headers, credential)
        reply = await server.ask(request, most=most_of(1), seconds=context.seconds, connect=context.connect)
        said = await self._gemini(reply) if gemini else await self._openrouter(reply, server, fetch)
        if said.pictures:
            return PaintedPictures(said.pictures, said.cost, said.notes)
        if said.declined:
            why = f"{self.name} declines it ({one_line(said.declined, 200)})"
            raise PaintFailed(PaintTrouble.REFUSED, why, said.cost)
        words = f", only in words: “{one_line(said.words, 300)}”" if said.words.strip() else ""
        raise PaintFailed(PaintTrouble.EMPTY, f"{self.name} answered without a picture{words}", said.cost)

    async def _gemini(self, reply: RawReply) -> ChatPictures:
        said = decoded(reply, _GeminiReply)
        if said.prompt_feedback.block_reason:
            return ChatPictures((), "", 0, said.prompt_feedback.block_reason)
        parts = [part for one in said.candidates for part in one.content.parts if not part.thought]
        shown = [part.inline_data for part in parts if part.inline_data]
        used = said.usage_metadata
        made = sum(one.token_count for one in used.candidates_tokens_details if one.modality == "IMAGE")
        written = used.candidates_token_count + used.thoughts_token_count
        cost = await self._context.price(PictureTokens(used.prompt_token_count, 0, written, made), len(shown))
        reasons = [one.finish_reason for one in said.candidates if one.finish_reason in _DECLINED]
        words = " ".join(part.text for part in parts)
        return ChatPictures(tuple(_whole(one.data, cost) for one in shown), words, cost, "".join(reasons[:1]))

    async def _openrouter(self, reply: RawReply, server: PaintServer, fetch: FetchPicture) -> ChatPictures:
        said = decoded(reply, _ChatImageReply)
        messages = [choice.message for choice in said.choices]
        urls = [image.image_url.url for message in messages for image in message.images]
        paid = said.usage.cost
        cost = await self._context.price(PictureTokens(), len(urls)) if paid is None else ceil(round(paid * 1e6, 3))
        had = await brought(urls, server, fetch, cost=cost, connect=self._context.connect)
        words = " ".join(message.content or "" for message in messages)
        declined = " ".join(message.refusal or "" for message in messages).strip()
        return ChatPictures(had.pictures, words, cost, declined, had.notes)


def _whole(data: str, cost: int) -> bytes:
    try:
        return from_base64(data)
    except PaintFailed as failed:
        raise PaintFailed(failed.trouble, failed.said, cost) from failed


def gemini_request(base: str, model: str, wish: PaintWish) -> PaintRequest:
    """A wish as one `generateContent`; `base` ends with the version of the interface."""
    parts: list[Mapping[str, Any]] = [
        {"inlineData": {"mimeType": one.mime, "data": b64encode(one.data).decode()}} for one in wish.pictures
    ]
    config: dict[str, Any] = {"responseModalities": ["TEXT", "IMAGE"]}
    if isinstance(wish.size, AspectRatio):
        config["imageConfig"] = {"aspectRatio": size_text(wish.size)}
    contents = [{"role": "user", "parts": [*parts, {"text": wish.prompt}]}]
    return PaintRequest(f"{base}/models/{model}:generateContent", {"contents": contents, "generationConfig": config})


def openrouter_request(context: PainterContext, wish: PaintWish) -> PaintRequest:
    """A wish as one Chat Completion; a model that only paints is told so (`modalities`)."""
    content: list[Mapping[str, Any]] = [{"type": "text", "text": wish.prompt}]
    content += [{"type": "image_url", "image_url": {"url": data_url(one)}} for one in wish.pictures]
    return PaintRequest(
        "chat/completions",
        {
            "model": context.model,
            "messages": [{"role": "user", "content": content}],
            "modalities": ["image"] if context.row.dialect == "openrouter-image" else ["image", "text"],
            "stream": False,
        },
    )
