"""Chat Completions, as the `openai` SDK asks for them."""

from pathlib import Path
from typing import Any

import msgspec
import openai
import pytest
from tests.web.v1.programs import PICTURE, served

from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.failure import FailureKind
from angelia.core.principal import OWNER
from angelia.testing.model.steps import Fail, say

pytestmark = pytest.mark.anyio


def user(text: str) -> Any:
    """A message, as the SDK's types would have it in nine forms."""
    return {"role": "user", "content": text}


async def whole(client: openai.AsyncOpenAI, *, stream: bool) -> None:
    came = await client.chat.completions.create(model="angelia", messages=[user("Hello.")], stream=stream)
    if isinstance(came, openai.AsyncStream):
        async for _ in came:
            pass


async def test_a_program_is_answered_and_usage_is_counted(tmp_path: Path) -> None:
    async with served(tmp_path, [say("It is blue.")]) as (programs, _), programs.openai() as client:
        came = await client.chat.completions.create(model="angelia", messages=[user("Which colour?")])
        assert came.choices[0].message.content == "It is blue."
        assert came.choices[0].finish_reason == "stop"
        assert came.usage
        assert came.usage.prompt_tokens > 0
        again = await client.chat.completions.retrieve(came.id)
        assert again.choices[0].message.content == "It is blue."
        [summary] = await programs.app.transcript.conversations(OWNER)
        [receipt] = await programs.app.outbox.receipts(OWNER, summary.id)
        assert (receipt.status, receipt.address.door) == (e.DeliveryStatus.SENT, "api")


async def test_a_stream_has_the_same_words_and_ends_with_usage(tmp_path: Path) -> None:
    async with served(tmp_path, [say("It is **blue**, as far as anybody knows.")]) as (programs, _):
        async with programs.openai() as client:
            stream: Any = await client.chat.completions.create(
                model="angelia",
                messages=[user("Which colour?")],
                stream=True,
                stream_options={"include_usage": True},
            )
            chunks = [chunk async for chunk in stream]
        words = [one.choices[0].delta.content or "" for one in chunks if one.choices]
        assert "".join(words) == "It is **blue**, as far as anybody knows."
        assert len([word for word in words if word]) > 1
        assert chunks[-1].usage
        assert chunks[-1].usage.completion_tokens > 0
        assert [one.choices[0].finish_reason for one in chunks if one.choices][-1] == "stop"


async def test_a_history_goes_on_in_the_conversation_that_it_is_of(tmp_path: Path) -> None:
    steps = [say("Noted."), say("Your name is Ann."), say("Bye.")]
    async with served(tmp_path, [*steps]) as (programs, _), programs.openai() as client:
        history: Any = [user("I am Ann.")]
        for more in ("Who am I?", "Thanks."):
            came = await client.chat.completions.create(model="angelia", messages=history)
            history += [{"role": "assistant", "content": came.choices[0].message.content}, user(more)]
        await client.chat.completions.create(model="angelia", messages=history)
        [conversation] = await programs.app.transcript.conversations(OWNER)
        said = [
            entry.fact.parts
            for entry in await programs.app.transcript.entries(conversation.id)
            if isinstance(entry.fact, e.UserSaid)
        ]
        assert said == [(Text("I am Ann."),), (Text("Who am I?"),), (Text("Thanks."),)]


async def test_a_history_goes_on_after_a_restart(tmp_path: Path) -> None:
    key = ""
    history: Any = [user("I am Ann.")]
    for life, answer in enumerate(["Noted.", "Ann."]):
        async with served(tmp_path, [say(answer)]) as (programs, _):
            key = key or await programs.key()
            async with programs.openai(key) as client:
                came = await client.chat.completions.create(model="angelia", messages=history)
                assert came.choices[0].message.content == answer
                history += [{"role": "assistant", "content": answer}, user("Who am I?")]
            assert len(await programs.app.transcript.conversations(OWNER)) == 1, life


async def test_another_past_is_told_and_not_taken_for_ours(tmp_path: Path) -> None:
    async with served(tmp_path, [say("Noted."), say("Ben.")]) as (programs, _), programs.openai() as client:
        await client.chat.completions.create(model="angelia", messages=[user("I am Ann.")])
        changed: Any = [user("I am Ann."), {"role": "assistant", "content": "You are Ben."}, user("Who am I?")]
        came = await client.chat.completions.create(model="angelia", messages=changed)
        assert came.choices[0].message.content == "Ben."
        newest, _ = await programs.app.transcript.conversations(OWNER)
        past, said = [entry.fact for entry in await programs.app.transcript.entries(newest.id)][1:3]
        assert isinstance(past, e.UserSaid)
        assert isinstance(said, e.UserSaid)
        assert past.forwarded
        assert "assistant: You are Ben." in "\n".join(part.text for part in past.parts if isinstance(part, Text))
        assert (said.parts, said.forwarded) == ((Text("Who am I?"),), False)


@pytest.mark.parametrize("words", ["Do it.", "Do\0it."])
async def test_the_same_idempotency_key_is_one_message(tmp_path: Path, words: str) -> None:
    async with served(tmp_path, [say("Once.")]) as (programs, model), programs.openai() as client:
        head = {"Idempotency-Key": "7"}
        first, again = [
            await client.chat.completions.create(model="angelia", messages=[user(words)], extra_headers=head)
            for _ in range(2)
        ]
        assert first.id == again.id
        assert len(model.requests) == 1
        with pytest.raises(openai.UnprocessableEntityError, match="another message"):
            await client.chat.completions.create(model="angelia", messages=[user("Not that.")], extra_headers=head)


async def test_a_picture_reaches_the_model(tmp_path: Path) -> None:
    async with served(tmp_path, [say("A dot.")]) as (programs, _), programs.openai() as client:
        parts: Any = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
        await client.chat.completions.create(model="angelia", messages=[{"role": "user", "content": parts}])
        [conversation] = await programs.app.transcript.conversations(OWNER)
        said = (await programs.app.transcript.entries(conversation.id))[1].fact
        assert isinstance(said, e.UserSaid)
        words, picture = said.parts
        assert isinstance(words, Text)
        assert isinstance(picture, Media)
        assert picture.blob.mime == "image/png"


async def test_who_hangs_up_stops_nothing_and_reads_it_by_its_id(tmp_path: Path) -> None:
    slow = msgspec.structs.replace(say("One two three four five six seven eight."), between=0.02)
    async with served(tmp_path, [slow]) as (programs, model), programs.openai() as client:
        stream: Any = await client.chat.completions.create(model="angelia", messages=[user("Count.")], stream=True)
        async for chunk in stream:
            if chunk.choices[0].delta.content:
                break
        await stream.close()
        again = await client.chat.completions.retrieve(chunk.id)
        assert again.choices[0].message.content == "One two three four five six seven eight."
        assert len(model.requests) == 1


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_account_without_credit_is_an_error_and_is_not_tried_again(tmp_path: Path, streamed: bool) -> None:
    async with served(tmp_path, [Fail(FailureKind.OUT_OF_CREDIT)]) as (programs, model), programs.openai() as client:
        with pytest.raises(openai.APIError, match="The account that pays for my thinking is empty"):
            await whole(client, stream=streamed)
        assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"n": 2}, "n"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"logprobs": True}, "logprobs"),
        ({"model": "gpt-none"}, "model"),
        ({"messages": [{"role": "assistant", "content": "I"}]}, "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://a"}}]}]},
            "messages.0.content",
        ),
    ],
)
async def test_what_is_not_possible_is_refused_by_name(tmp_path: Path, asked: dict[str, Any], param: str) -> None:
    async with served(tmp_path, []) as (programs, model), programs.openai() as client:
        with pytest.raises(openai.APIStatusError) as refused:
            await client.chat.completions.create(**{"model": "angelia", "messages": [user("Hello.")], **asked})
        assert refused.value.body["param"] == param  # type: ignore[index]  # of an object, as each error is
        assert not model.requests
