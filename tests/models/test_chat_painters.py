"""Painters that are spoken to in other ways than Images: what goes out as it is published, and what answers mean."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, with_config

from angelia.context.media_forms import Pixels
from angelia.models.pictures.port import AspectRatio, PaintFailed, PaintTrouble, PaintWish, SourcePicture
from angelia.testing.model.http1 import Answering, HttpRequest, read_request
from angelia.testing.model.pictures import one_colour
from angelia.testing.painters.checks import check_painter, no_fetching
from tests.models.painting import KEY, painter_at

pytestmark = pytest.mark.anyio

RED, BLUE = one_colour("red"), one_colour("blue")
A_RED = SourcePicture(RED, "image/png", 64, 64)
TOKENS = {
    "promptTokenCount": 10,
    "candidatesTokenCount": 1290,
    "totalTokenCount": 1300,
    "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 1290}],
}


def gemini(*parts: dict[str, Any], finish: str = "STOP") -> dict[str, Any]:
    """A reply as `generateContent` sends it."""
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": finish, "index": 0}], "usageMetadata": TOKENS}


PAINTED = gemini({"text": "Here."}, {"inlineData": {"mimeType": "image/png", "data": b64encode(RED).decode()}})


def openrouter(**message: Any) -> dict[str, Any]:
    """A reply as OpenRouter sends it."""
    said = {"role": "assistant", "content": "", **message}
    usage = {"prompt_tokens": 10, "completion_tokens": 1290, "total_tokens": 1300, "cost": 0.0387}
    return {"id": "gen-1", "choices": [{"index": 0, "finish_reason": "stop", "message": said}], "usage": usage}


DATA_URL = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(RED).decode()}"}}


WEBUI = {"images": [b64encode(RED).decode()], "parameters": {}, "info": ""}


@asynccontextmanager
async def answering(reply: dict[str, Any]) -> AsyncIterator[tuple[str, list[HttpRequest]]]:
    """A server that says the same to whatever it is asked, and what it was asked."""
    asked: list[HttpRequest] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        out = Answering(reader, writer)
        try:
            while (given := await read_request(reader)) is not None:
                asked.append(given)
                await out.whole(200, json.dumps(reply).encode())
        except ConnectionError:
            pass
        finally:
            await out.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**24)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1beta", asked


async def test_gemini_is_asked_as_google_publishes_it_with_the_very_bytes() -> None:
    from google.genai import types as google  # a second, that few processes need to spend

    wish = PaintWish("Blue.", (A_RED, SourcePicture(BLUE, "image/png")), size=AspectRatio(16, 9))
    async with (
        answering(PAINTED) as (url, asked),
        painter_at(f"{url}/openai", "gemini", "gemini-2.5-flash-image") as painter,
    ):
        painted = await painter.paint(wish, no_fetching, lambda line: None)
    [request] = asked
    assert (request.method, request.path) == ("POST", "/v1beta/models/gemini-2.5-flash-image:generateContent")
    assert request.headers["x-goog-api-key"] == KEY
    assert "authorization" not in request.headers
    body = json.loads(request.body)
    assert set(body) == {"contents", "generationConfig"}
    [content] = [google.Content.model_validate(one) for one in body["contents"]]
    assert [part.inline_data.data for part in content.parts or [] if part.inline_data] == [RED, BLUE]
    assert [part.text for part in content.parts or [] if part.text] == ["Blue."]
    config = google.GenerateContentConfig.model_validate(body["generationConfig"])
    assert config.response_modalities == ["TEXT", "IMAGE"]
    assert config.image_config == google.ImageConfig(aspect_ratio="16:9")
    google.GenerateContentResponse.model_validate(PAINTED)  # what the fake says is what Google says
    assert (painted.pictures, painted.cost) == ((RED,), 1290)


def test_a_field_that_google_does_not_know_would_be_seen() -> None:
    from google.genai import types as google  # a second, that few processes need to spend

    with pytest.raises(ValueError, match="Extra inputs"):
        google.GenerateContentConfig.model_validate({"imageShape": "16:9"})


async def test_openrouter_is_asked_by_chat_with_pictures_as_data_urls() -> None:
    strict: Any = with_config(ConfigDict(extra="forbid", arbitrary_types_allowed=True))
    schema: Any = TypeAdapter(strict(CompletionCreateParamsNonStreaming))
    reply = openrouter(images=[DATA_URL])
    async with answering(reply) as (url, asked), painter_at(url, "openrouter", "google/gemini-3-pro-image") as painter:
        painted = await painter.paint(PaintWish("Blue.", (A_RED,)), no_fetching, lambda line: None)
    body = json.loads(asked[0].body)
    assert (asked[0].path, body.pop("modalities")) == ("/v1beta/chat/completions", ["image", "text"])  # its own field
    schema.validate_python(body)
    assert body["messages"][0]["content"] == [{"type": "text", "text": "Blue."}, DATA_URL]
    assert (painted.pictures, painted.cost) == ((RED,), 38_700)
    async with answering(reply) as (url, asked), painter_at(url, "openrouter", "black-forest-labs/flux.2") as painter:
        await painter.paint(PaintWish("Blue."), no_fetching, lambda line: None)
    assert json.loads(asked[0].body)["modalities"] == ["image"]


BLOCKED = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 10}}
OUTCOMES: list[tuple[str, dict[str, Any], PaintTrouble, int, str]] = [
    ("gemini", BLOCKED, PaintTrouble.REFUSED, 0, "declines it (PROHIBITED_CONTENT)"),
    ("gemini", gemini(finish="IMAGE_SAFETY"), PaintTrouble.REFUSED, 1290, "declines it (IMAGE_SAFETY)"),
    ("gemini", gemini({"text": "I draw\nno foxes."}), PaintTrouble.EMPTY, 1290, "in words: “I draw no foxes.”"),
    ("gemini", gemini(finish="NO_IMAGE"), PaintTrouble.EMPTY, 1290, "without a picture"),
    ("gemini", gemini({"inlineData": {"data": "%%"}}), PaintTrouble.NOT_A_PICTURE, 1290, "no base64"),
    ("openrouter", openrouter(refusal="I cannot."), PaintTrouble.REFUSED, 38_700, "declines it (I cannot.)"),
    ("openrouter", openrouter(content="No."), PaintTrouble.EMPTY, 38_700, "in words: “No.”"),
    (
        "openrouter",
        openrouter(images=[{"image_url": {"url": "http://127.0.0.1/x"}}]),
        PaintTrouble.FORBIDDEN_URL,
        38_700,
        "http://127.0.0.1/x",
    ),
]


@pytest.mark.parametrize(("kind", "reply", "trouble", "cost", "said"), OUTCOMES)
async def test_an_answer_without_a_picture_is_named_with_what_it_cost(
    kind: str, reply: dict[str, Any], trouble: PaintTrouble, cost: int, said: str
) -> None:
    async with answering(reply) as (url, asked), painter_at(url, kind, "m") as painter:
        with pytest.raises(PaintFailed) as failed:
            await painter.paint(PaintWish("A fox."), no_fetching, lambda line: None)
    assert (failed.value.trouble, failed.value.cost, len(asked)) == (trouble, cost, 1)
    assert said in str(failed.value)


async def test_a_web_interface_is_asked_with_what_its_document_has() -> None:
    wish = PaintWish("A fox.", size=Pixels(512, 768), seed=4)
    async with answering(WEBUI) as (url, asked), painter_at(url, "webui", "m") as painter:
        first = await painter.paint(wish, no_fetching, lambda line: None)
        await painter.paint(PaintWish("Blue.", (A_RED,)), no_fetching, lambda line: None)
    assert [one.path for one in asked] == ["/v1beta/sdapi/v1/txt2img", "/v1beta/sdapi/v1/img2img"]
    assert json.loads(asked[0].body) == {"prompt": "A fox.", "batch_size": 1, "seed": 4, "width": 512, "height": 768}
    given = {"init_images": [b64encode(RED).decode()], "width": 64, "height": 64}
    assert json.loads(asked[1].body) == {"prompt": "Blue.", "batch_size": 1, "seed": -1, **given}
    assert first.pictures == (RED,)
    async with answering({"images": [], "info": ""}) as (url, _), painter_at(url, "webui", "m") as painter:
        with pytest.raises(PaintFailed, match="without a picture"):
            await painter.paint(wish, no_fetching, lambda line: None)


KINDS = [("gemini", PAINTED), ("openrouter", openrouter(images=[DATA_URL])), ("webui", WEBUI)]


@pytest.mark.parametrize(("kind", "reply"), KINDS)
async def test_each_is_a_painter_like_any_other(kind: str, reply: dict[str, Any]) -> None:
    async with answering(reply) as (url, _), painter_at(url, kind, "m") as painter:

        async def opened() -> Any:
            return painter

        await check_painter(opened)
