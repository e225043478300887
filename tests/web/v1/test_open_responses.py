"""The seven kinds of requests that the acceptance suite of Open Responses makes, and the forms that it wants back.

The forms are those of its OpenAPI document (https://www.openresponses.org, `ResponseResource` and the events of a
stream): a table of our own, since the document itself describes far more than is answered here.
"""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator
from tests.web.v1.programs import PICTURE, served

from angelia.testing.model.steps import Step, call, say

pytestmark = pytest.mark.anyio

STRING, WHOLE, NUMBER, NONE = {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "null"}
FLAG, ANY = {"type": "boolean"}, dict[str, Any]()


def one_of(*values: str) -> dict[str, Any]:
    """One of these words."""
    return {"enum": list(values)}


def record(**fields: Any) -> dict[str, Any]:
    """An object in which each of these is."""
    return {"type": "object", "required": sorted(fields), "properties": fields}


def maybe(form: dict[str, Any]) -> dict[str, Any]:
    """That, or null."""
    return {"anyOf": [form, NONE]}


def listed(form: dict[str, Any]) -> dict[str, Any]:
    """A list of it."""
    return {"type": "array", "items": form}


TEXT = record(type=one_of("output_text"), text=STRING, annotations=listed(ANY), logprobs=listed(ANY))
STATE = one_of("in_progress", "completed", "incomplete")
MESSAGE = record(type=one_of("message"), id=STRING, status=STATE, role=one_of("assistant"), content=listed(TEXT))
CALL = record(type=one_of("function_call"), id=STRING, call_id=STRING, name=STRING, arguments=STRING, status=STATE)
ITEM = {"anyOf": [MESSAGE, CALL]}
TOOL = record(
    type=one_of("function"),
    name=STRING,
    description=maybe(STRING),
    parameters=maybe({"type": "object"}),
    strict=maybe(FLAG),
)
USAGE = record(
    input_tokens=WHOLE,
    output_tokens=WHOLE,
    total_tokens=WHOLE,
    input_tokens_details=record(cached_tokens=WHOLE),
    output_tokens_details=record(reasoning_tokens=WHOLE),
)
RESPONSE = record(
    id=STRING,
    object=one_of("response"),
    created_at=WHOLE,
    completed_at=maybe(WHOLE),
    status=STRING,
    incomplete_details=maybe(record(reason=STRING)),
    model=STRING,
    previous_response_id=maybe(STRING),
    instructions=maybe(STRING),
    output=listed(ITEM),
    error=maybe(record(code=STRING, message=STRING)),
    tools=listed(TOOL),
    tool_choice=one_of("none", "auto", "required"),
    truncation=one_of("auto", "disabled"),
    parallel_tool_calls=FLAG,
    text=record(format=record(type=one_of("text"))),
    top_p=NUMBER,
    presence_penalty=NUMBER,
    frequency_penalty=NUMBER,
    top_logprobs=WHOLE,
    temperature=NUMBER,
    reasoning=maybe({"type": "object"}),
    usage=maybe(USAGE),
    max_output_tokens=maybe(WHOLE),
    max_tool_calls=maybe(WHOLE),
    store=FLAG,
    background=FLAG,
    service_tier=STRING,
    metadata=ANY,
    safety_identifier=maybe(STRING),
    prompt_cache_key=maybe(STRING),
)
PLACE = {"item_id": STRING, "output_index": WHOLE}
IN_TEXT = {**PLACE, "content_index": WHOLE}
EVENTS: dict[str, dict[str, Any]] = {
    "response.created": {"response": RESPONSE},
    "response.in_progress": {"response": RESPONSE},
    "response.completed": {"response": RESPONSE},
    "response.output_item.added": {"output_index": WHOLE, "item": ITEM},
    "response.output_item.done": {"output_index": WHOLE, "item": ITEM},
    "response.content_part.added": {**IN_TEXT, "part": TEXT},
    "response.content_part.done": {**IN_TEXT, "part": TEXT},
    "response.output_text.delta": {**IN_TEXT, "delta": STRING, "logprobs": listed(ANY)},
    "response.output_text.done": {**IN_TEXT, "text": STRING, "logprobs": listed(ANY)},
    "response.function_call_arguments.delta": {**PLACE, "delta": STRING},
    "response.function_call_arguments.done": {**PLACE, "arguments": STRING},
}


def require(value: Any, form: dict[str, Any]) -> None:
    """It has that form."""
    faults = [f"{one.json_path}: {one.message}" for one in Draft202012Validator(form).iter_errors(value)]
    assert not faults, faults


def message(role: str, content: Any) -> dict[str, Any]:
    """An item of the input."""
    return {"type": "message", "role": role, "content": content}


PICTURED = [{"type": "input_text", "text": "What is on it?"}, {"type": "input_image", "image_url": PICTURE}]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "name": "get_weather", "description": "Weather in a city", "parameters": CITY}
ASKED = [message("user", "Is it cold in Oslo?")]
CALLED = call("get_weather", {"city": "Oslo"})
KINDS: list[Any] = [
    pytest.param({"input": [message("user", "Say three words.")]}, say("Here they are."), "message", id="words"),
    pytest.param({"input": ASKED, "stream": True}, say("It is, rather."), "message", id="streamed"),
    pytest.param(
        {"input": [message("system", "Rhyme."), *ASKED]}, say("Bold and cold."), "message", id="system prompt"
    ),
    pytest.param({"input": ASKED, "tools": [WEATHER]}, CALLED, "function_call", id="a call"),
    pytest.param({"input": ASKED, "tools": [WEATHER], "stream": True}, CALLED, "function_call", id="a call, streamed"),
    pytest.param({"input": [message("user", PICTURED)]}, say("A dot."), "message", id="a picture"),
    pytest.param(
        {"input": [*ASKED, message("assistant", "Yes."), message("user", "How cold?")]},
        say("Four below."),
        "message",
        id="several turns",
    ),
]


@pytest.mark.parametrize(("asked", "step", "kind"), KINDS)
async def test_each_kind_of_request_is_answered_in_the_form_of_open_responses(
    tmp_path: Path, asked: dict[str, Any], step: Step, kind: str
) -> None:
    async with served(tmp_path, [step]) as (programs, _), httpx2.AsyncClient(timeout=30, verify=False) as client:
        came = await client.post(
            f"{programs.page.address}/v1/responses",
            json={"model": "angelia", **asked},
            headers={"authorization": f"Bearer {await programs.key()}"},
        )
    assert came.status_code == 200, came.text
    answer = came.json() if not asked.get("stream") else told(came.text)
    require(answer, RESPONSE)
    assert answer["status"] == "completed"
    assert [item["type"] for item in answer["output"]] == [kind]


def told(stream: str) -> dict[str, Any]:
    """What a stream comes to, each of whose events has its form."""
    events = [json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line.startswith("data: ")]
    for event in events:
        require(event, record(type=STRING, sequence_number=WHOLE, **EVENTS[event["type"]]))
    items = [event["item"]["type"] for event in events if event["type"] == "response.output_item.done"]
    assert items == [event["item"]["type"] for event in events if event["type"] == "response.output_item.added"]
    found: dict[str, Any] = events[-1]["response"]
    return found
