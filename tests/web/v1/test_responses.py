"""Responses, as the `openai` SDK asks for them."""

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.web.v1.programs import PICTURE, served

from angelia.core.principal import OWNER
from angelia.testing.model.steps import Hang, How, cut_after, say, slowly

pytestmark = pytest.mark.anyio

WORDS = "One two three four five six seven eight."


async def test_a_response_is_read_again_and_gone_on_with_after_a_restart(tmp_path: Path) -> None:
    async with served(tmp_path, [say("Noted.")]) as (programs, _):
        key = await programs.key()
        async with programs.openai(key) as client:
            first = await client.responses.create(model="angelia", input="I am Ann.", instructions="Be brief.")
            assert (first.status, first.output_text) == ("completed", "Noted.")
    async with served(tmp_path, [say("Ann.")]) as (programs, _), programs.openai(key) as client:
        assert (await client.responses.retrieve(first.id)).output_text == "Noted."
        second = await client.responses.create(model="angelia", input="Who am I?", previous_response_id=first.id)
        assert second.output_text == "Ann."
        assert second.previous_response_id == first.id
        assert len(await programs.app.transcript.conversations(OWNER)) == 1
        with pytest.raises(openai.BadRequestError, match="More was said after"):
            await client.responses.create(model="angelia", input="And?", previous_response_id=first.id)


async def test_a_stream_that_was_cut_is_read_on_from_its_last_event(tmp_path: Path) -> None:
    async with served(tmp_path, [slowly(say(WORDS), between=0.02)]) as (programs, model), programs.openai() as client:
        stream: Any = await client.responses.create(model="angelia", input="Count.", stream=True)
        own, words, last = "", "", -1
        async for event in stream:
            assert event.sequence_number > last
            own, last = own or event.response.id, event.sequence_number
            if event.type == "response.output_text.delta":
                words += event.delta
                break
        await stream.close()
        assert words != WORDS
        more: Any = await client.responses.retrieve(own, stream=True, starting_after=last)
        async for event in more:
            assert event.sequence_number > last
            last = event.sequence_number
            if event.type == "response.output_text.delta":
                words += event.delta
        assert words == WORDS
        assert event.type == "response.completed"
        assert event.response.output_text == WORDS
        assert len(model.requests) == 1


async def test_a_stream_that_is_read_on_in_the_middle_of_a_reply_brings_what_came_meanwhile(tmp_path: Path) -> None:
    step = cut_after(slowly(say(WORDS), between=0.02), 1_000, how=How.SILENCE)
    async with served(tmp_path, [step]) as (programs, _), programs.openai() as client:
        stream: Any = await client.responses.create(model="angelia", input="Count.", stream=True, background=True)
        own, words, last = "", "", -1
        async for event in stream:
            own, last = own or event.response.id, event.sequence_number
            if event.type == "response.output_text.delta":
                words += event.delta
                break
        await stream.close()
        assert words != WORDS
        async with asyncio.timeout(60):
            more: Any = await client.responses.retrieve(own, stream=True, starting_after=last)
            async for event in more:
                words += event.delta if event.type == "response.output_text.delta" else ""
                if len(words) >= len(WORDS):
                    break
        assert words == WORDS
        await more.close()
        await client.responses.cancel(own)


async def test_what_works_in_the_background_is_cancelled(tmp_path: Path) -> None:
    async with served(tmp_path, [Hang()]) as (programs, _), programs.openai() as client:
        begun = await client.responses.create(model="angelia", input="Think.", background=True)
        assert begun.status == "in_progress"
        assert (await client.responses.cancel(begun.id)).status == "cancelled"


async def test_a_picture_and_a_conversation_by_its_id_are_taken(tmp_path: Path) -> None:
    async with served(tmp_path, [say("A dot."), say("Red.")]) as (programs, _), programs.openai() as client:
        content: Any = [{"type": "input_text", "text": "What?"}, {"type": "input_image", "image_url": PICTURE}]
        first = await client.responses.create(model="angelia", input=[{"role": "user", "content": content}])
        assert first.conversation
        again = await client.responses.create(model="angelia", input="Colour?", conversation=first.conversation.id)
        assert again.output_text == "Red."
        assert again.conversation == first.conversation
        async with programs.openai(await programs.key("other")) as other:
            with pytest.raises(openai.NotFoundError):
                await other.responses.create(model="angelia", input="And?", conversation=first.conversation.id)
