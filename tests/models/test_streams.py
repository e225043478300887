"""A reply is the same however its bytes were cut, and there is none before the finish event is complete."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from angelia.core.content import ProviderBlock, ReplyPart, Text, Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.errors import ModelError
from angelia.core.failure import FailureKind
from angelia.core.ids import CallId
from angelia.http.events import EventDecoder
from angelia.models.port import CallBegun, Piece, Reply, TextDelta, ThinkingDelta
from angelia.models.wires.anthropic import MessagesReader
from angelia.models.wires.openai_chat import ChatReader
from angelia.models.wires.openai_responses import ResponsesReader
from angelia.models.wires.wire import ReplyReader

STREAMS = Path(__file__).with_name("streams")

READERS: dict[str, type[ChatReader | ResponsesReader | MessagesReader]] = {
    "chat": ChatReader,
    "responses": ResponsesReader,
    "anthropic": MessagesReader,
}


class Case(NamedTuple):
    """What a recorded stream must come to. `finish` is how its finish event begins."""

    parts: tuple[ReplyPart, ...]
    stop: StopReason
    usage: Usage
    finish: bytes


def native(raw: bytes) -> ProviderBlock:
    return ProviderBlock("maker", msgspec.Raw(raw))


def called(name: str, arguments: str, wire_id: str, raw: bytes = b"") -> ToolCall:
    return ToolCall(CallId(""), name, arguments, wire_id, native(raw) if raw else None)


CASES = {
    "chat_calls": Case(
        (
            Text("Ich schaue nach: größer 猫 😺"),
            called("shell", '{"command":"ls"}', "call_a"),
            called("read", '{"path":"a"}', "call_b"),
        ),
        StopReason.TOOL_CALLS,
        Usage(120, 30, 64, 0, 8),
        b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"',
    ),
    "chat_openrouter": Case(
        (
            Thinking(
                "Let me think.",
                native(
                    b'{"reasoning_details":[{"type":"reasoning.text","text":"Let me think.",'
                    b'"format":"anthropic-claude-v1","index":0,"signature":"EqQBCgIYAhIM"},{"type":"reasoning.encrypted","data":"gAAAAAB",'
                    b'"format":"openai-responses-v1","id":"rs_1","index":1}]}'
                ),
            ),
            Text("Yes."),
        ),
        StopReason.END,
        Usage(10, 20, 4, 3),
        b'data: {"id":"gen-1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"',
    ),
    "chat_gemini": Case(
        (
            called(
                "shell",
                '{"command":"ls"}',
                "function-call-1",
                b'{"extra_content":{"google":{"thought_signature":"CpYCAdHtim9/+=="}}}',
            ),
            called("shell", '{"command":"pwd"}', "function-call-2"),
        ),
        StopReason.TOOL_CALLS,
        Usage(90, 12),
        b'data: {"choices":[{"delta":{"role":"assistant"},"finish_reason":"stop"',
    ),
    "chat_deepseek": Case(
        (Thinking("Two and two.", native(b'{"reasoning_content":"Two and two."}')), Text("Four")),
        StopReason.LENGTH,
        Usage(14, 9, 8, 0, 4),
        b'data: {"id":"d","choices":[{"index":0,"delta":{"content":"",',
    ),
    "chat_magistral": Case(
        (Thinking("Hmm.", native(b'{"reasoning_content":"Hmm."}')), Text("Done.")),
        StopReason.END,
        Usage(5, 4),
        b'data: {"id":"m","choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"',
    ),
    "responses_tools": Case(
        (
            Thinking(
                "**Looking** at it",
                native(
                    rb'{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAABpXY\/+==",'
                    rb'"summary":[{"type":"summary_text","text":"**Looking** at it"}]}'
                ),
            ),
            Text(
                "I will look 猫.",
                native(
                    '{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],'
                    '"logprobs":[],"text":"I will look 猫."}],"phase":"commentary","role":"assistant"}'.encode()
                ),
            ),
            called(
                "shell",
                '{"command":"ls"}',
                "call_9",
                rb'{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"command\":\"ls\"}",'
                rb'"call_id":"call_9","name":"shell"}',
            ),
        ),
        StopReason.TOOL_CALLS,
        Usage(328, 52, 256, 0, 32),
        b"event: response.completed",
    ),
    "anthropic_thinking": Case(
        (
            Thinking(
                'The user "wants" a 猫.',
                native(
                    '{"type":"thinking","thinking":"The user \\"wants\\" a 猫.",'
                    '"signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk="}'.encode()
                ),
            ),
            native(rb'{"type":"redacted_thinking", "data":"EmwKAhgBEgy3va3pzix\/LafPsn4a"}'),
            Text("Okay, looking 😺"),
            called("shell", '{"command": "ls"}', "toolu_01"),
            called("todo", "{}", "toolu_02"),
        ),
        StopReason.TOOL_CALLS,
        Usage(3120, 89, 3000, 100, 30),
        b"event: message_stop",
    ),
}


def recorded(name: str) -> bytes:
    return (STREAMS / f"{name}.sse").read_bytes()


def heard(name: str, *pieces: bytes) -> tuple[list[Piece], ReplyReader]:
    """Everything until the reply, as the wire would pass it on."""
    events = EventDecoder()
    listening: ReplyReader = READERS[name.partition("_")[0]]("maker")
    pieces_out: list[Piece] = []
    for piece in pieces:
        for event in events.feed(piece):
            for one in listening.event(event.name, event.data):
                pieces_out.append(one)
                if isinstance(one, Reply):
                    return pieces_out, listening
    if reply := listening.ended():
        pieces_out.append(reply)
    return pieces_out, listening


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_stream_comes_to_its_reply(name: str) -> None:
    case = CASES[name]
    pieces, listening = heard(name, recorded(name))
    assert pieces[-1] == Reply(case.parts, case.stop, case.usage)
    assert listening.partial() == case.parts
    spoken = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    assert spoken == "".join(part.text for part in case.parts if isinstance(part, Text))
    thought = "".join(piece.text for piece in pieces if isinstance(piece, ThinkingDelta))
    assert thought == "".join(part.text for part in case.parts if isinstance(part, Thinking))
    begun = [piece.name for piece in pieces if isinstance(piece, CallBegun)]
    assert begun == [part.name for part in case.parts if isinstance(part, ToolCall)]


@pytest.mark.parametrize("name", CASES)
def test_a_stream_cut_in_two_at_any_byte_gives_the_same_reply(name: str) -> None:
    body = recorded(name)
    whole, _ = heard(name, body)
    for at in range(len(body) + 1):
        assert heard(name, body[:at], body[at:])[0] == whole
    assert heard(name, *(body[at : at + 1] for at in range(len(body))))[0] == whole


@pytest.mark.parametrize("name", CASES)
def test_a_stream_that_ends_before_its_finish_event_is_never_a_reply(name: str) -> None:
    body = recorded(name)
    finished = body.index(b"\n\n", body.index(CASES[name].finish)) + 2
    for at in range(finished):
        assert not any(isinstance(piece, Reply) for piece in heard(name, body[:at])[0]), at
    assert isinstance(heard(name, body[:finished])[0][-1], Reply)


@pytest.mark.parametrize("name", CASES)
def test_nothing_comes_after_the_reply(name: str) -> None:
    body = recorded(name)
    pieces, _ = heard(name, body, body)
    assert sum(isinstance(piece, Reply) for piece in pieces) == 1


def test_half_a_character_in_a_chunk_does_not_end_the_stream() -> None:
    cut = b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83d"}}]}\n\n'
    body = cut + b'data: {"choices":[{"index":0,"delta":{"content":"\xf0\x9f"},"finish_reason":"stop"}]}\n\n'
    reply = heard("chat_x", body)[0][-1]
    assert isinstance(reply, Reply)
    assert reply.parts == (Text("a\ufffd\ufffd"),)


def test_garbage_in_a_stream_is_a_cut_stream() -> None:
    for name in READERS:
        with pytest.raises(ModelError) as failed:
            heard(name, b"data: <html>\n\n")
        assert failed.value.failure.kind is FailureKind.STREAM_CUT


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", StopReason.END),
        ("length", StopReason.LENGTH),
        ("content_filter", StopReason.REFUSAL),
        ("tool_calls", StopReason.END),
        ("function_call", StopReason.END),
        ("model_length", StopReason.LENGTH),
        ("sensitive", StopReason.REFUSAL),
        ("STOP", StopReason.END),
        ("something_new", StopReason.END),
    ],
)
def test_chat_finish_reasons_in_our_words(finish: str, stop: StopReason) -> None:
    chunk = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"%s"}]}\n\n' % finish.encode()
    reply = heard("chat_x", chunk)[0][-1]
    assert isinstance(reply, Reply)
    assert reply.stop is stop


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.END),
        ("stop_sequence", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("pause_turn", StopReason.PAUSE),
        ("refusal", StopReason.REFUSAL),
    ],
)
def test_anthropic_stop_reasons_in_our_words(reason: str, stop: StopReason) -> None:
    body = b'data: {"type":"message_delta","delta":{"stop_reason":"%s"}}\n\ndata: {"type":"message_stop"}\n\n'
    reply = heard("anthropic", body % reason.encode())[0][-1]
    assert isinstance(reply, Reply)
    assert reply.stop is stop


@pytest.mark.parametrize(
    ("status", "reason", "stop"),
    [
        ("completed", "null", StopReason.END),
        ("incomplete", '{"reason":"max_output_tokens"}', StopReason.LENGTH),
        ("incomplete", '{"reason":"content_filter"}', StopReason.REFUSAL),
    ],
)
def test_responses_endings_in_our_words(status: str, reason: str, stop: StopReason) -> None:
    body = f'data: {{"type":"response.{status}","response":{{"status":"{status}","incomplete_details":{reason}}}}}\n\n'
    reply = heard("responses", body.encode())[0][-1]
    assert isinstance(reply, Reply)
    assert reply.stop is stop


def test_a_refusal_on_responses_is_a_refusal() -> None:
    item = '{"type":"message","content":[{"type":"refusal","refusal":"I will not."}]}'
    body = f'data: {{"type":"response.completed","response":{{"status":"completed","output":[{item}]}}}}\n\n'
    reply = heard("responses", body.encode())[0][-1]
    assert isinstance(reply, Reply)
    assert (reply.stop, reply.parts) == (StopReason.REFUSAL, (Text("I will not.", native(item.encode())),))


def test_arguments_cut_at_the_length_limit_stay_as_they_came() -> None:
    call = b'{"index":0,"id":"c","function":{"name":"shell","arguments":"{\\"comm"}}'
    body = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[' + call + b']},"finish_reason":"length"}]}\n\n'
    reply = heard("chat_x", body)[0][-1]
    assert reply == Reply((called("shell", '{"comm', "c"),), StopReason.LENGTH, Usage())


def test_xai_s_thinking_counts_as_output() -> None:
    details = b'"completion_tokens_details":{"reasoning_tokens":20}'
    usage = b'{"prompt_tokens":10,"completion_tokens":5,"total_tokens":35,' + details + b"}"
    body = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":' + usage + b"}\n\n"
    reply = heard("chat_x", body)[0][-1]
    assert isinstance(reply, Reply)
    assert reply.usage == Usage(10, 25, 0, 0, 20)
