"""Every shape of message becomes what the vendor's own typed requests allow, and nothing is lost on the way."""

import base64
import json
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from angelia.context.request import ModelRequest, OpenedBytes, RequestMessage, Shown
from angelia.core.content import ProviderBlock, Text, Thinking
from angelia.core.errors import ModelError
from angelia.core.failure import FailureKind
from angelia.core.profile import Profile
from angelia.models.catalog.vendors import profile
from angelia.models.wires.fragments import Fragments
from tests.models.shapes import (
    KEY,
    MODELS,
    PDF,
    PNG,
    TALK,
    WIRES,
    call,
    paper,
    photo,
    raw,
    request,
    result,
    results,
    said,
    user,
    wire,
)

pytestmark = pytest.mark.anyio


@cache
def typed() -> dict[str, TypeAdapter[Any]]:
    """What each vendor publishes; imported by whoever runs these tests, for it takes seconds."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return {
        "openai-chat": TypeAdapter(CompletionCreateParamsStreaming),
        "openai-responses": TypeAdapter(ResponseCreateParamsStreaming),
        "anthropic": TypeAdapter(MessageCreateParamsStreaming),
    }


async def sent(name: str, asked: ModelRequest, model: Profile | None = None) -> Any:
    """The body that goes out, as the server parses it; it has passed the vendor's own types."""
    spoken = wire(name, model)
    outgoing = spoken.outgoing(asked, await Fragments(spoken.encode).of(asked), KEY)
    body = json.loads(outgoing.body)
    read_through(typed()[name].validate_python(body))
    return body


def read_through(value: Any) -> None:
    """Validate what pydantic leaves until somebody iterates over it."""
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return
    for one in value:
        read_through(one)


def test_the_typed_requests_do_refuse_what_is_wrong() -> None:
    wrong = {
        "model": "m",
        "stream": True,
        "max_tokens": 1,
        "messages": [{"role": "user", "content": [{"type": "text"}]}],
    }
    with pytest.raises(ValidationError):
        read_through(typed()["anthropic"].validate_python(wrong))


def thread(name: str, body: Any) -> Any:
    return body["input" if name == "openai-responses" else "messages"]


@pytest.mark.parametrize("name", WIRES)
async def test_every_shape_is_what_the_vendor_s_own_types_allow(name: str) -> None:
    body = await sent(name, request(*TALK, model=MODELS[name], max_output=5000, effort="high"))
    assert body["stream"] is True


@pytest.mark.parametrize("name", WIRES)
async def test_every_byte_of_a_medium_arrives(name: str) -> None:
    text = json.dumps(await sent(name, request(*TALK, model=MODELS[name])))
    for page in range(3):
        assert base64.b64encode(PNG + bytes([page])).decode() in text
    assert text.count(base64.b64encode(PDF).decode()) == 2
    assert "paper.pdf, page 2" in text


@pytest.mark.parametrize("name", WIRES)
async def test_what_is_empty_is_left_out(name: str) -> None:
    body = await sent(name, request(user(1, Text("Hi")), model=MODELS[name], system="", tools=()))
    assert not {"tools", "system", "instructions", "max_output_tokens", "max_completion_tokens"} & body.keys()
    assert len(thread(name, body)) == 1


async def test_chat_puts_the_media_of_results_into_one_message_after_the_last_result() -> None:
    messages = (await sent("openai-chat", request(*TALK)))["messages"]
    assert [m["role"] for m in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "user",
        "assistant",
        "user",
    ]
    assert [part["type"] for part in messages[6]["content"]] == ["text", "image_url", "text", "file"]
    assert messages[3]["content"].startswith("one\n\ntwo")
    assert messages[4]["content"] == "(nothing)"
    assert messages[8]["content"] == "Thanks.\n\nAnd now?"


async def test_anthropic_and_responses_put_media_into_the_result_itself() -> None:
    messages = (await sent("anthropic", request(*TALK, model=MODELS["anthropic"])))["messages"]
    kinds = [[block["type"] for block in one["content"]] for one in messages[2]["content"]]
    assert kinds == [["text", "image", "text"], ["text"], ["text", "document"]]
    assert [one.get("is_error") for one in messages[2]["content"]] == [None, True, True]
    items = (await sent("openai-responses", request(*TALK, model=MODELS["openai-responses"])))["input"]
    outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
    assert [one["type"] for one in outputs[0]] == ["input_text", "input_image", "input_text"]
    assert outputs[1] == "(nothing)"


@pytest.mark.parametrize("name", WIRES)
async def test_arguments_that_are_no_object_go_back_inside_one(name: str) -> None:
    text = json.dumps(await sent(name, request(*TALK, model=MODELS[name]))).replace("\\", "")
    assert '{"invalid_arguments":"{broken"}' in text.replace('": "', '":"')


@pytest.mark.parametrize("name", WIRES)
async def test_only_the_maker_of_a_message_gets_its_own_names_and_blocks_back(name: str) -> None:
    model = MODELS[name]
    block = ProviderBlock(model.vendor, raw({"type": "redacted_thinking", "data": "c2VjcmV0"}))
    foreign = ProviderBlock("somebody", raw({"type": "redacted_thinking", "data": "Zm9yZWlnbg"}))
    for maker, theirs in ((model.vendor, True), ("somebody", False)):
        reply = said(2, block, foreign, Text("Hm."), call("c2_0", wire_id="theirs_7"), maker=maker)
        chat = (user(1, Text("Hi")), reply, results(3, result("c2_0", Text("ok"), wire_id="theirs_7")))
        spoken = wire(name, model)
        asked = request(*chat, model=model)
        body = spoken.outgoing(asked, await Fragments(spoken.encode).of(asked), KEY).body
        assert (b"c2VjcmV0" in body) is theirs
        assert b"Zm9yZWlnbg" not in body
        assert body.count(b"theirs_7") == (2 if theirs else 0)
        assert body.count(b'"c2_0"') == (0 if theirs else 2)


@pytest.mark.parametrize("name", WIRES)
async def test_names_that_a_vendor_repeats_within_a_reply_are_replaced_by_ours(name: str) -> None:
    model = MODELS[name]
    reply = said(2, call("c2_0", wire_id="same"), call("c2_1", wire_id="same"), maker=model.vendor)
    chat = (user(1, Text("Hi")), reply, results(3, result("c2_0", Text("a")), result("c2_1", Text("b"))))
    assert "same" not in json.dumps(await sent(name, request(*chat, model=model)))


@pytest.mark.parametrize("name", WIRES)
async def test_thinking_of_somebody_else_is_left_out_and_a_message_of_nothing_else_takes_no_place(name: str) -> None:
    model = MODELS[name]
    chat = (
        user(1, Text("Hi")),
        said(2, Thinking("Foreign.", ProviderBlock("other", raw({})))),
        user(3, Text("Hello?")),
    )
    body = await sent(name, request(*chat, model=model))
    assert "Foreign" not in json.dumps(body)
    assert not [one for one in thread(name, body) if one.get("role") == "assistant"]


@pytest.mark.parametrize("vendor", ["openrouter", "deepseek", "moonshot", "zai", "llamacpp"])
async def test_reasoning_goes_back_only_to_vendors_that_want_it(vendor: str) -> None:
    thought = ProviderBlock(vendor, raw({"reasoning_content": "Because."}))
    chat = (user(1, Text("Hi")), said(2, Thinking("Because.", thought), Text("So."), maker=vendor), user(3, Text("?")))
    model = profile(f"{vendor}:some-model")
    assert (await sent("openai-chat", request(*chat, model=model), model))["messages"][2][
        "reasoning_content"
    ] == "Because."
    groq = profile("groq:some-model")
    foreign = (
        chat[0],
        said(2, Thinking("Because.", ProviderBlock("groq", raw({"reasoning": "Because."}))), Text("So."), maker="groq"),
    )
    assert "reasoning" not in (await sent("openai-chat", request(*foreign, model=groq), groq))["messages"][2]


async def test_deepseek_gets_an_empty_reasoning_with_calls_that_somebody_else_made() -> None:
    model = profile("deepseek:deepseek-chat")
    chat = (user(1, Text("Hi")), said(2, call("c2_0"), maker="openai"), results(3, result("c2_0", Text("ok"))))
    assert (await sent("openai-chat", request(*chat, model=model), model))["messages"][2]["reasoning_content"] == ""


async def test_gemini_gets_a_word_in_place_of_the_signatures_that_calls_of_others_lack() -> None:
    model = profile("gemini:gemini-3-flash")
    own = ProviderBlock("gemini", raw({"extra_content": {"google": {"thought_signature": "signed"}}}))
    for maker, block, signature in (("openai", None, "skip_thought_signature_validator"), ("gemini", own, "signed")):
        reply = said(2, call("c2_0", wire_id="a", native=block), call("c2_1", wire_id="b"), maker=maker)
        chat = (user(1, Text("Hi")), reply, results(3, result("c2_0", Text("a")), result("c2_1", Text("b"))))
        calls = (await sent("openai-chat", request(*chat, model=model), model))["messages"][2]["tool_calls"]
        assert calls[0]["extra_content"]["google"]["thought_signature"] == signature
        assert "extra_content" not in calls[1]


async def test_mistral_gets_names_of_nine_characters_that_match() -> None:
    model = profile("mistral:mistral-large-latest")
    body = await sent("openai-chat", request(*TALK, model=model), model)
    names = [one["id"] for one in body["messages"][2]["tool_calls"]]
    assert all(len(name) == 9 and name.isalnum() for name in names)
    assert names == [one["tool_call_id"] for one in body["messages"][3:6]]
    assert "stream_options" not in body


async def test_effort_is_asked_for_in_each_dialect() -> None:
    hello = user(1, Text("Hi"))

    async def asked(name: str, spec: str) -> Any:
        model = profile(spec)
        return await sent(name, request(hello, model=model, effort="low"), model)

    assert (await asked("openai-chat", "openai-chat:gpt-5"))["reasoning_effort"] == "low"
    assert (await asked("openai-chat", "openrouter:x/y"))["reasoning"] == {"effort": "low"}
    assert (await asked("openai-responses", "openai:gpt-5"))["reasoning"] == {"effort": "low"}
    assert (await asked("anthropic", "anthropic:claude-opus-5"))["output_config"] == {"effort": "low"}
    assert (await asked("anthropic", "anthropic:claude-sonnet-4-5"))["thinking"]["budget_tokens"] == 2048


async def test_responses_asks_for_encrypted_reasoning_and_stores_nothing() -> None:
    body = await sent("openai-responses", request(user(1, Text("Hi")), model=MODELS["openai-responses"]))
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    plain = profile("openai:gpt-4o")
    assert "include" not in await sent("openai-responses", request(user(1, Text("Hi")), model=plain), plain)


async def test_anthropic_gets_a_limit_even_when_nobody_named_one() -> None:
    hello = user(1, Text("Hi"))
    assert (await sent("anthropic", request(hello, model=MODELS["anthropic"])))["max_tokens"] == 32_000
    unknown = Profile("a:m", "a", "m", "anthropic")
    assert (await sent("anthropic", request(hello, model=unknown), unknown))["max_tokens"] == 4096


@pytest.mark.parametrize("name", WIRES)
async def test_a_medium_without_a_form_on_the_wire_is_refused_before_anything_is_sent(name: str) -> None:
    async def as_film(shown: Shown) -> tuple[OpenedBytes, ...]:
        return (OpenedBytes("video/mp4", b"film"),)

    with pytest.raises(ModelError) as refused:
        await wire(name, opener=as_film).encode(user(1, photo()), None)
    assert refused.value.failure.kind is FailureKind.MEDIA_REFUSED


@pytest.mark.parametrize("name", WIRES)
async def test_a_message_with_nothing_in_it_is_still_a_message(name: str) -> None:
    for empty in (user(1), user(1, Text("")), user(1, Text("  \n"))):
        assert "(nothing)" in json.dumps(thread(name, await sent(name, request(empty, model=MODELS[name]))))


@pytest.mark.parametrize("name", WIRES)
async def test_an_image_alone_is_enough(name: str) -> None:
    only: RequestMessage = user(1, photo(), paper())
    assert await sent(name, request(only, model=MODELS[name]))
