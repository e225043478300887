"""The scripted server is a provider as far as clients that nobody here wrote can tell."""

import hashlib
import json

import httpx2
import pytest

from angelia.testing.model.answerers import by_replies, name_the_colour, rounds
from angelia.testing.model.pictures import dominant_colour, one_colour
from angelia.testing.model.server import ModelServer, ServerLimits
from angelia.testing.model.steps import (
    Fail,
    Speak,
    busy,
    calls,
    empty,
    filtered,
    history_refused,
    length,
    login_rejected,
    out_of_credit,
    overloaded,
    refuse_media,
    say,
    server_error,
    slowly,
    think,
    too_large,
    too_long,
    truncated_call,
    unknown_model,
)
from tests.testing.requests_by_hand import PATHS, asked, post

pytestmark = pytest.mark.anyio

REPLY = think("Let me see.") + say("It is  well.\n") + calls(("shell", {"command": "ls -l"}), ("read", {"path": "a b"}))


async def test_the_openai_sdk_reads_a_chat_reply_in_one_piece_and_in_a_stream() -> None:
    import openai

    async with (
        ModelServer([REPLY, REPLY]) as server,
        openai.AsyncOpenAI(api_key="k", base_url=server.base_url) as client,
    ):
        whole = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        async with client.chat.completions.stream(
            model="m", messages=[{"role": "user", "content": "hi"}], stream_options={"include_usage": True}
        ) as stream:
            streamed = await stream.get_final_completion()
    for reply in (whole, streamed):
        message = reply.choices[0].message
        assert message.content == "It is  well.\n"
        assert reply.choices[0].finish_reason == "tool_calls"
        functions = [one.function for one in message.tool_calls or () if one.type == "function"]
        assert [(one.name, json.loads(one.arguments)) for one in functions] == [
            ("shell", {"command": "ls -l"}),
            ("read", {"path": "a b"}),
        ]
        assert reply.usage is not None


async def test_the_openai_sdk_reads_a_responses_reply_in_one_piece_and_in_a_stream() -> None:
    import openai

    async with (
        ModelServer([REPLY, REPLY]) as server,
        openai.AsyncOpenAI(api_key="k", base_url=server.base_url) as client,
    ):
        whole = await client.responses.create(model="m", input="hi")
        async with client.responses.stream(model="m", input="hi") as stream:
            streamed = await stream.get_final_response()
    for reply in (whole, streamed):
        assert reply.output_text == "It is  well.\n"
        assert [item.type for item in reply.output] == ["reasoning", "message", "function_call", "function_call"]
        assert [json.loads(item.arguments) for item in reply.output if item.type == "function_call"] == [
            {"command": "ls -l"},
            {"path": "a b"},
        ]
        assert reply.status == "completed"


async def test_the_anthropic_sdk_reads_a_reply_in_one_piece_and_in_a_stream_and_may_send_it_back() -> None:
    import anthropic

    steps = [REPLY, REPLY, say("Thank you.")]
    async with ModelServer(steps) as server, anthropic.AsyncAnthropic(api_key="k", base_url=server.url) as client:
        whole = await client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
        async with client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as stream:
            streamed = await stream.get_final_message()
        used = [block for block in streamed.content if block.type == "tool_use"]
        done = await client.messages.create(
            model="m",
            max_tokens=9,
            messages=[
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": streamed.content},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": one.id} for one in used]},
            ],
        )
    for reply in (whole, streamed):
        assert [block.type for block in reply.content] == ["thinking", "text", "tool_use", "tool_use"]
        assert [block.input for block in reply.content if block.type == "tool_use"] == [
            {"command": "ls -l"},
            {"path": "a b"},
        ]
        assert reply.stop_reason == "tool_use"
    assert done.stop_reason == "end_turn"


FAILURES: list[tuple[Fail, type[Exception] | str, int]] = [
    (busy(2), "RateLimitError", 429),
    (overloaded(), "APIStatusError", 529),
    (server_error(503), "APIStatusError", 503),
    (too_long(), "BadRequestError", 400),
    (too_large(), "APIStatusError", 413),
    (refuse_media(), "BadRequestError", 400),
    (login_rejected(), "AuthenticationError", 401),
    (unknown_model(), "NotFoundError", 404),
    (history_refused("pair"), "BadRequestError", 400),
    (out_of_credit(), "APIStatusError", 0),
]


@pytest.mark.parametrize(("step", "name", "status"), FAILURES, ids=lambda value: getattr(value, "kind", None))
async def test_the_sdks_know_every_failure_by_its_class(step: Fail, name: str, status: int) -> None:
    import anthropic
    import openai

    seen = []
    async with ModelServer([step, step, step]) as server:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
            with pytest.raises(getattr(openai, name)) as chat:
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
            with pytest.raises(getattr(openai, name)) as responses:
                await client.responses.create(model="m", input="hi")
        async with anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0) as other:
            with pytest.raises(getattr(anthropic, name)) as messages:
                await other.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
        seen = [chat.value, responses.value, messages.value]
    assert {error.status_code for error in seen} <= ({status} if status else {400, 429})
    if step.retry_after:
        assert {error.response.headers["retry-after"] for error in seen} == {"2"}


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
async def test_a_picture_that_arrives_is_seen_and_equal_by_hash(wire: str, form: str) -> None:
    data = one_colour("orange", form=form)
    async with ModelServer(name_the_colour) as server, httpx2.AsyncClient() as client:
        seen = await post(client, server, wire, asked(wire, image=(f"image/{form.lower()}", data)))
        blind = await post(client, server, wire, asked(wire))
    assert "orange" in seen.text
    assert "IMAGE_NOT_RECEIVED" in blind.text
    assert [one.sha256 for one in server.requests[0].images] == [hashlib.sha256(data).hexdigest()]


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize(("mime", "data"), [("image/png", b"not a picture"), ("image/jpeg", one_colour("red"))])
async def test_a_damaged_or_mislabelled_picture_is_refused_as_media(wire: str, mime: str, data: bytes) -> None:
    async with ModelServer([]) as server, httpx2.AsyncClient() as client:
        response = await post(client, server, wire, asked(wire, image=(mime, data)))
    assert response.status_code == 400
    assert "media type" in response.text


@pytest.mark.parametrize("wire", PATHS)
async def test_one_connection_serves_many_requests(wire: str) -> None:
    async with ModelServer([say("ok")] * 20) as server, httpx2.AsyncClient() as client:
        for _ in range(20):
            assert (await post(client, server, wire, asked(wire, stream=True))).status_code == 200
        assert server.connections == 1
        assert len(server.requests) == 20


SHAPES: list[tuple[Speak, dict[str, str]]] = [
    (empty(), {"chat": '"finish_reason":"stop"', "responses": "response.completed", "anthropic": '"end_turn"'}),
    (length(), {"chat": '"length"', "responses": "max_output_tokens", "anthropic": '"max_tokens"'}),
    (filtered(), {"chat": "content_filter", "responses": "content_filter", "anthropic": '"refusal"'}),
    (think("hm"), {"chat": "reasoning_content", "responses": "summary_text", "anthropic": "signature_delta"}),
    (
        truncated_call("shell", {"command": "rm -rf build"}, at=20, finish=True),
        {"chat": '"tool_calls"}', "responses": "response.completed", "anthropic": '"tool_use"'},
    ),
    (slowly(say("a b"), first=0.001, between=0.001), {"chat": "DONE", "responses": "completed", "anthropic": "stop"}),
]


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize(("step", "tells"), SHAPES)
async def test_every_shape_of_reply_says_on_each_wire_what_it_is(wire: str, step: Speak, tells: dict[str, str]) -> None:
    async with ModelServer([step]) as server, httpx2.AsyncClient() as client:
        response = await post(client, server, wire, asked(wire, stream=True))
    assert tells[wire] in response.text
    assert "build" not in response.text


@pytest.mark.parametrize("wire", PATHS)
async def test_limits_refuse_as_a_provider_would(wire: str) -> None:
    limits = ServerLimits(body=2000, window=200, keys=("right",))
    async with ModelServer([say("ok")], limits=limits) as server, httpx2.AsyncClient() as client:
        got = []
        for key, text in [("wrong", "hi"), ("right", "x" * 3000), ("right", "x" * 1200), ("right", "hi")]:
            client.headers = httpx2.Headers({"authorization": f"Bearer {key}"})
            got.append((await post(client, server, wire, asked(wire, text))).status_code)
    assert got == [401, 413, 400, 200]


async def test_a_script_by_replies_answers_a_repeated_request_as_before() -> None:
    async with ModelServer(by_replies([say("first"), say("second")])) as server, httpx2.AsyncClient() as client:
        body = asked("chat")
        again = [(await post(client, server, "chat", body)).json()["choices"][0]["message"]["content"] for _ in "ab"]
        body["messages"] += [{"role": "assistant", "content": "first"}, {"role": "user", "content": "and?"}]
        later = (await post(client, server, "chat", body)).json()["choices"][0]["message"]["content"]
    assert [*again, later] == ["first", "first", "second"]


async def test_rounds_call_until_the_history_holds_enough_calls() -> None:
    async with ModelServer(rounds(1, "true")) as server, httpx2.AsyncClient() as client:
        body = asked("chat")
        first = (await post(client, server, "chat", body)).json()["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": ""}
        body["messages"] += [first, result]
        second = (await post(client, server, "chat", body)).json()["choices"][0]["message"]
    assert json.loads(first["tool_calls"][0]["function"]["arguments"]) == {"command": "true"}
    assert second["content"] == "done"


async def test_models_are_listed_and_unknown_paths_are_not_found() -> None:
    async with ModelServer([], models=("a", "b")) as server, httpx2.AsyncClient() as client:
        listed = (await client.get(f"{server.base_url}/models")).json()
        lost = await client.post(f"{server.base_url}/embeddings", json={})
    assert [one["id"] for one in listed["data"]] == ["a", "b"]
    assert lost.status_code == 404


@pytest.mark.parametrize("colour", ["red", "green", "blue", "white", "black", "purple"])
def test_the_dominant_colour_is_named_and_damage_is_named_too(colour: str) -> None:
    assert dominant_colour(one_colour(colour, form="JPEG")) == colour
    assert dominant_colour(one_colour(colour)[:40]) == "unreadable"
