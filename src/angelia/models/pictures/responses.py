"""Painters that a conversation's model calls as its tool: `image_generation` of OpenAI's Responses.

The model that is named reads the wish and is made to call the tool, once; which model then paints is the provider's
choice (OpenAI reference, "Create a model response"; `tools`, `tool_choice`). Two models are paid, and the reply counts
the tokens of both, but does not name the one that painted: without a price of the person's nobody knows the sum.
"""

from typing import Any

from msgspec import Struct

from angelia.core.text import one_line
from angelia.models.pictures.context import PainterContext, PictureTokens
from angelia.models.pictures.fitting import size_text
from angelia.models.pictures.picture_urls import data_url, from_base64
from angelia.models.pictures.port import (
    AnySize,
    FetchPicture,
    PaintedPictures,
    Painter,
    PaintFailed,
    PaintTrouble,
    PaintWish,
    TellProgress,
)
from angelia.models.pictures.requests import PaintRequest, PaintServer, decoded, most_of
from angelia.models.pictures.table_painter import TablePainter
from angelia.models.wires.wire import bearer

_TOOL = "image_generation"


class _ToolError(Struct, frozen=True):
    message: str = ""
    code: str | None = None


class _ResponsePart(Struct, frozen=True):
    type: str
    text: str = ""
    refusal: str = ""


class _ResponseItem(Struct, frozen=True):
    type: str
    result: str | None = None
    revised_prompt: str | None = None
    error: _ToolError | None = None
    content: tuple[_ResponsePart, ...] | None = None


class _ResponsesReply(Struct, frozen=True):
    output: tuple[_ResponseItem, ...] = ()
    error: _ToolError | None = None


def open_painter(context: PainterContext) -> Painter:
    """The painter of one model."""
    return ResponsesPainter(context)


class ResponsesPainter(TablePainter):
    """See `models.pictures.port.Painter`."""

    async def paint(self, wish: PaintWish, fetch: FetchPicture, tell: TellProgress) -> PaintedPictures:
        """Paint once.

        Raises:
            PaintFailed: there is no picture; what the model said instead is told as its words.
        """
        context = self._context
        credential = await context.credential()
        server = PaintServer((await context.server()).client, bearer(credential), credential)
        request = responses_request(context.model, wish)
        reply = await server.ask(request, most=most_of(1), seconds=context.seconds, connect=context.connect)
        said = decoded(reply, _ResponsesReply)
        calls = [item for item in said.output if item.type == f"{_TOOL}_call"]
        cost = await context.price(PictureTokens(), 1)
        if found := [call for call in calls if call.result]:
            try:
                pictures = tuple(from_base64(call.result or "") for call in found)
            except PaintFailed as failed:
                raise PaintFailed(failed.trouble, failed.said, cost) from failed
            revised = dict.fromkeys(one_line(call.revised_prompt, 300) for call in found if call.revised_prompt)
            notes = tuple(f"It was painted from other words: “{one}”" for one in revised)
            return PaintedPictures(pictures, cost, notes)
        raise self._refused(said, calls, cost)

    def _refused(self, said: _ResponsesReply, calls: list[_ResponseItem], cost: int) -> PaintFailed:
        """Why there is no picture: the filter's word for it, or the model's own."""
        failed = next((call.error for call in calls if call.error), said.error)
        if failed is not None:
            refused = failed.code == "moderation_blocked"
            why = one_line(failed.message or failed.code or "", 300)
            return PaintFailed(PaintTrouble.REFUSED if refused else PaintTrouble.FAILED_THERE, why, cost)
        parts = [part for item in said.output for part in item.content or ()]
        if declined := " ".join(part.refusal for part in parts if part.refusal).strip():
            return PaintFailed(PaintTrouble.REFUSED, f"{self.name} declines it ({one_line(declined, 200)})", cost)
        words = " ".join(part.text for part in parts).strip()
        told = f", only in words: “{one_line(words, 300)}”" if words else ""
        return PaintFailed(PaintTrouble.EMPTY, f"{self.name} answered without a picture{told}", cost)


def responses_request(model: str, wish: PaintWish) -> PaintRequest:
    """A wish as one response, which nobody keeps."""
    tool: dict[str, Any] = {"type": _TOOL, "action": "edit" if wish.pictures else "generate", "output_format": "png"}
    if not isinstance(wish.size, AnySize):
        tool["size"] = size_text(wish.size)
    if wish.transparent:
        tool["background"] = "transparent"
    if wish.mask:
        tool["input_image_mask"] = {"image_url": data_url(wish.mask[0])}
    content: list[dict[str, Any]] = [{"type": "input_text", "text": wish.prompt}]
    content += [{"type": "input_image", "image_url": data_url(one), "detail": "auto"} for one in wish.pictures]
    return PaintRequest(
        "responses",
        {
            "model": model,
            "input": [{"role": "user", "content": content}],
            "tools": [tool],
            "tool_choice": {"type": _TOOL},
            "store": False,
        },
    )
