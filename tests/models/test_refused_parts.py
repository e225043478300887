"""What a refusal names is found in the words of every vendor, and only if the request had it."""

import pytest

from angelia.core.failure import FailureKind
from angelia.models.wires.refused_parts import RefusedPart, refused_part

SENT = ("model", "messages", "stream", "stream_options", "max_tokens", "reasoning_effort", "cache_control", "tools")
TOOLS = ("read", "shell", "mcp_files-list")

PARAMETERS = [
    ("Unsupported parameter: 'reasoning_effort' is not supported with this model.", "reasoning_effort"),
    ('"message":"Not for this model.","param":"reasoning_effort","code":"unsupported_parameter"', "reasoning_effort"),
    ("Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"),
    ("Unknown parameter: 'stream_options'.", "stream_options"),
    ("Unsupported value: 'reasoning_effort' does not support 'low' with this model.", "reasoning_effort"),
    ("cache_control: Extra inputs are not permitted", "cache_control"),
    ('{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"No."}', "stream_options"),
    ('{"detail":[{"loc":["body","reasoning_effort"],"msg":"extra fields not permitted"}]}', "reasoning_effort"),
    (r"Invalid JSON payload received. Unknown name \"stream_options\": Cannot find field.", "stream_options"),
    ("Argument not supported on this model: reasoningEffort", "reasoning_effort"),
    ("`reasoning_effort` is not supported with this model", "reasoning_effort"),
    ("property 'reasoning_effort' is unsupported", "reasoning_effort"),
    (r"\"llama3\" does not support thinking", "reasoning_effort"),
]
TOOL_SENTENCES = [
    ("Invalid schema for function 'mcp_files-list': object schema missing properties.", "mcp_files-list"),
    ("tools.1.custom.input_schema: JSON schema is invalid.", "shell"),
    ("Invalid 'tools[2].function.name': string does not match pattern.", "mcp_files-list"),
    ("* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name.", "read"),
]


@pytest.mark.parametrize(("body", "name"), PARAMETERS)
def test_a_parameter_that_is_refused_is_known_by_its_name(body: str, name: str) -> None:
    assert refused_part(body.encode(), SENT, TOOLS) == RefusedPart(FailureKind.PARAMETER_REFUSED, name)
    without = [one for one in SENT if one != name]
    assert refused_part(body.encode(), without, TOOLS) is None, "what was not sent cannot be left out"


@pytest.mark.parametrize(("body", "name"), TOOL_SENTENCES)
def test_a_tool_that_is_refused_is_known_by_its_name(body: str, name: str) -> None:
    assert refused_part(body.encode(), SENT, TOOLS) == RefusedPart(FailureKind.TOOL_REFUSED, name)
    assert refused_part(body.encode(), SENT, ()) is None


@pytest.mark.parametrize(
    "body",
    [
        '{"error":{"message":"messages.0.content: Extra inputs are not permitted","param":"messages"}}',
        '{"error":{"message":"Unsupported parameter: \'model\'"}}',
        '{"error":{"message":"An assistant message with tool_calls must be followed by tool messages"}}',
        '{"error":{"message":"Invalid signature in a thinking block of messages[1]."}}',
        "",
    ],
)
def test_what_no_request_can_go_without_is_no_part(body: str) -> None:
    assert refused_part(body.encode(), SENT, TOOLS) is None
