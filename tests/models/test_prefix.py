"""Within a generation, each request extends the last one's byte for byte, and only what is new is encoded."""

import asyncio
import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.context.request import RequestMessage, Role
from angelia.core.content import CallStatus, ProviderBlock, Text, Thinking
from angelia.models.catalog.vendors import profile
from angelia.models.wires.cache_marks import STRIDE, mark_positions
from angelia.models.wires.fragments import Fragments, joined
from tests.models.shapes import KEY, MODELS, WIRES, call, paper, photo, raw, request, result, results, said, user, wire

MAKERS = ("", "openai", "openai-chat", "anthropic", "groq")
words = st.text(max_size=12).map(Text)
media = st.sampled_from([photo(), photo(pages=2), paper()])
texts = st.text(max_size=8)


@st.composite
def replies(draw: st.DrawFn, seq: int) -> list[RequestMessage]:
    """A reply, and the results of its calls if it made some."""
    maker = draw(st.sampled_from(MAKERS))
    thought = ProviderBlock(maker, raw({"type": "thinking", "thinking": draw(texts)}))
    parts = draw(st.lists(st.one_of(words, st.just(Thinking("Hm.", thought)), st.just(Thinking("Hm."))), max_size=3))
    calls = [
        call(f"c{seq}_{at}", draw(st.sampled_from(['{"a":1}', "{}", "{bro"])), draw(st.sampled_from(["", "x", "y"])))
        for at in range(draw(st.integers(0, 2)))
    ]
    messages = [said(seq, *parts, *calls, maker=maker)]
    if calls:
        status = draw(st.sampled_from(CallStatus))
        shown = [result(one.id, *draw(st.lists(st.one_of(words, media), max_size=2)), status=status) for one in calls]
        messages.append(results(seq + 1, *shown))
    return messages


@st.composite
def talks(draw: st.DrawFn) -> list[RequestMessage]:
    """A conversation, with people who interrupt."""
    messages: list[RequestMessage] = []
    for turn in range(draw(st.integers(1, 6))):
        messages.append(user(turn * 10, *draw(st.lists(st.one_of(words, media), max_size=3))))
        if draw(st.booleans()):
            messages += draw(replies(turn * 10 + 1))
    return messages


def unmarked(body: bytes) -> bytes:
    """The body without cache marks."""
    return re.sub(rb',"cache_control":\{"type":"ephemeral"\}', b"", body)


@pytest.mark.parametrize("name", WIRES)
@given(chat=talks())
def test_requests_only_grow(name: str, chat: list[RequestMessage]) -> None:
    async def grow() -> None:
        spoken = wire(name)
        kept = Fragments(spoken.encode)
        before = b""
        for end in range(1, len(chat) + 1):
            asked = request(*chat[:end], model=MODELS[name])
            fragments = await kept.of(asked)
            body = unmarked(spoken.outgoing(asked, fragments, KEY).body)
            assert body.endswith(b"]}")
            assert body.startswith(before.removesuffix(b"]}"))
            assert isinstance(json.loads(body), dict)
            assert fragments == await Fragments(spoken.encode).of(asked)
            before = body

    asyncio.run(grow())


@pytest.mark.anyio
async def test_a_message_is_encoded_once_in_a_generation_and_again_in_the_next() -> None:
    encoded: list[int] = []

    async def encode(message: RequestMessage, before: RequestMessage | None) -> bytes:
        encoded.append(message.seq)
        return b"{}"

    kept = Fragments(encode)
    await kept.of(request(user(1), user(2), generation=1))
    await kept.of(request(user(1), user(2), user(3), generation=1))
    assert encoded == [1, 2, 3]
    await kept.of(request(user(1), generation=2))
    assert encoded == [1, 2, 3, 1]
    assert len(await kept.of(request(user(4), user(5), generation=2))) == 2
    assert encoded == [1, 2, 3, 1, 4, 5]


def test_a_message_of_which_nothing_is_left_takes_no_place() -> None:
    assert joined([b"1", b"", b"2"]) == b"1,2"


def test_at_most_four_marks_stand_where_they_move_rarely() -> None:
    messages = [user(n) if n % 2 else said(n) for n in range(60)]
    resting: list[tuple[int, ...]] = []
    for length in range(1, 60):
        at = mark_positions(messages[:length], 3)
        assert len(at) <= 3
        assert all(messages[position].role is not Role.ASSISTANT for position in at)
        assert not at or at[-1] >= length - 2
        resting.append(tuple(position for position in at if position < length - 2))
    moves = sum(1 for old, new in pairwise(resting) if old != new)
    assert moves <= 2 * (60 // STRIDE) + 2
    assert mark_positions([], 3) == mark_positions(messages, 0) == []


@pytest.mark.anyio
async def test_marks_are_written_into_copies_and_count_four() -> None:
    model = profile("anthropic:claude-opus-5")
    spoken = wire("anthropic", model)
    chat = [message for n in range(20) for message in (user(2 * n, Text("a"), photo()), said(2 * n + 1, Text("b")))]
    asked = request(*chat, user(99, Text("c")), model=model)
    fragments = await Fragments(spoken.encode).of(asked)
    body = spoken.outgoing(asked, fragments, KEY).body
    assert body.count(b"cache_control") == 4
    assert b"cache_control" not in b"".join(fragments)
    parsed = json.loads(body)
    assert parsed["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert parsed["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
