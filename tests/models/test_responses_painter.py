"""OpenAI's Responses as a painter: the tool is called once, with the very bytes; every end of it is named."""

import json
from base64 import b64encode
from typing import Any

import pytest
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from openai.types.responses.tool_param import ImageGeneration
from pydantic import ConfigDict, TypeAdapter, with_config

from angelia.context.media_forms import Pixels
from angelia.models.pictures.port import PaintFailed, PaintTrouble, PaintWish, SourcePicture
from angelia.testing.model.pictures import one_colour
from angelia.testing.painters.checks import check_painter, no_fetching
from tests.models.painting import KEY, painter_at
from tests.models.test_chat_painters import answering

pytestmark = pytest.mark.anyio

RED = one_colour("red")
A_RED = SourcePicture(RED, "image/png", 64, 64)
_STRICT: Any = with_config(ConfigDict(extra="forbid", arbitrary_types_allowed=True))
REQUEST: Any = TypeAdapter(_STRICT(ResponseCreateParamsNonStreaming))
TOOL: Any = TypeAdapter(_STRICT(ImageGeneration))


def response(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A reply as OpenAI publishes it."""
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "model": "gpt-5.6",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": {"type": "image_generation"},
        "tools": [],
        "temperature": None,
        "top_p": None,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        **more,
    }
    Response.model_validate(whole, strict=True)
    return whole


def called(**more: Any) -> dict[str, Any]:
    """A call of the tool, as it stands in a reply."""
    return {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": None, **more}


def words(**part: Any) -> dict[str, Any]:
    """A message of the model's."""
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


PAINTED = response(called(result=b64encode(RED).decode(), revised_prompt="A red\nfox"))


async def test_the_model_is_made_to_call_the_tool_with_the_very_bytes() -> None:
    wish = PaintWish("Blue.", (A_RED,), (A_RED,), Pixels(1536, 1024), transparent=True)
    async with answering(PAINTED) as (url, asked), painter_at(url, "responses", "gpt-5.6") as painter:
        painted = await painter.paint(wish, no_fetching, print)
    [request] = asked
    body = json.loads(request.body)
    REQUEST.validate_python(body)
    [tool] = body["tools"]
    TOOL.validate_python(tool)
    held = f"data:image/png;base64,{b64encode(RED).decode()}"
    assert (request.path, request.headers["authorization"]) == ("/v1beta/responses", f"Bearer {KEY}")
    assert (body["tool_choice"], body["store"]) == ({"type": "image_generation"}, False)
    assert (tool["action"], tool["size"], tool["background"]) == ("edit", "1536x1024", "transparent")
    assert tool["input_image_mask"] == {"image_url": held}
    assert [part.get("image_url") or part["text"] for part in body["input"][0]["content"]] == ["Blue.", held]
    assert (painted.pictures, painted.cost) == ((RED,), 1000)
    assert painted.notes == ("It was painted from other words: “A red fox”",)


def test_a_field_that_the_tool_does_not_have_would_be_seen() -> None:
    with pytest.raises(ValueError, match="colour"):
        TOOL.validate_python({"type": "image_generation", "colour": "red"})


BLOCKED = {"message": "Your request was rejected.", "code": "moderation_blocked", "type": "image_generation_user_error"}
BROKEN = {"message": "The server had an error.", "code": "server_error", "type": "server_error"}
OUTCOMES = [
    (response(called(status="failed", error=BLOCKED)), PaintTrouble.REFUSED, "Your request was rejected"),
    (response(called(status="failed", error=BROKEN)), PaintTrouble.FAILED_THERE, "The server had an error"),
    (
        response(status="failed", error={"code": "server_error", "message": "It broke."}),
        PaintTrouble.FAILED_THERE,
        "It broke",
    ),
    (response(words(type="refusal", refusal="I\ncannot.")), PaintTrouble.REFUSED, "declines it (I cannot.)"),
    (
        response(words(type="output_text", text="No.", annotations=[], logprobs=[])),
        PaintTrouble.EMPTY,
        "only in words: “No.”",
    ),
    (response(called(result="%%")), PaintTrouble.NOT_A_PICTURE, "no base64"),
    (response(), PaintTrouble.EMPTY, "without a picture"),
]


@pytest.mark.parametrize(("reply", "trouble", "said"), OUTCOMES)
async def test_an_answer_without_a_picture_is_named_and_may_be_paid(
    reply: dict[str, Any], trouble: PaintTrouble, said: str
) -> None:
    async with answering(reply) as (url, asked), painter_at(url, "responses", "gpt-5.6") as painter:
        with pytest.raises(PaintFailed) as failed:
            await painter.paint(PaintWish("A fox."), no_fetching, print)
    assert (failed.value.trouble, failed.value.cost, len(asked)) == (trouble, 1000, 1)
    assert said in str(failed.value)


async def test_it_is_a_painter_like_any_other() -> None:
    reply = response(called(result=b64encode(RED).decode()))
    async with answering(reply) as (url, _), painter_at(url, "responses", "gpt-5.6") as painter:

        async def opened() -> Any:
            return painter

        await check_painter(opened)
