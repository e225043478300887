"""Messages, as the `anthropic` SDK asks for them."""

from pathlib import Path
from typing import Any

import pytest
from tests.web.v1.programs import PICTURE, served

from angelia.core.failure import FailureKind
from angelia.core.principal import OWNER
from angelia.testing.model.steps import Fail, say

pytestmark = pytest.mark.anyio


def asked(*messages: Any) -> dict[str, Any]:
    return {"model": "angelia", "max_tokens": 1000, "system": "Be brief.", "messages": list(messages)}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


async def test_a_message_is_answered_and_the_history_finds_its_conversation(tmp_path: Path) -> None:
    async with served(tmp_path, [say("Noted."), say("Ann.")]) as (programs, _), programs.anthropic() as client:
        first = await client.messages.create(**asked(user("I am Ann.")))
        assert (first.content[0].text, first.stop_reason) == ("Noted.", "end_turn")
        assert first.usage.output_tokens > 0
        history = (user("I am Ann."), {"role": "assistant", "content": "Noted."}, user("Who am I?"))
        assert (await client.messages.create(**asked(*history))).content[0].text == "Ann."
        assert len(await programs.app.transcript.conversations(OWNER)) == 1


async def test_a_stream_has_the_same_words(tmp_path: Path) -> None:
    async with served(tmp_path, [say("It is **blue**, as far as anybody knows.")]) as (programs, _):
        picture = {"type": "base64", "media_type": "image/png", "data": PICTURE.partition(",")[2]}
        content = [{"type": "text", "text": "Which colour?"}, {"type": "image", "source": picture}]
        async with (
            programs.anthropic() as client,
            client.messages.stream(**asked({"role": "user", "content": content})) as stream,
        ):
            words = [text async for text in stream.text_stream]
            whole = await stream.get_final_message()
        assert "".join(words) == "It is **blue**, as far as anybody knows."
        assert (whole.stop_reason, whole.content[0].text) == ("end_turn", "".join(words))  # type: ignore[union-attr]


async def test_errors_are_in_the_form_of_anthropic_and_not_tried_again(tmp_path: Path) -> None:
    import anthropic  # see `programs`

    async with served(tmp_path, [Fail(FailureKind.OUT_OF_CREDIT)]) as (programs, model):
        async with programs.anthropic() as client:
            with pytest.raises(anthropic.APIStatusError, match="overloaded_error"):
                await client.messages.create(**asked(user("Hello.")))
            with pytest.raises(anthropic.BadRequestError, match="ends by itself"):
                await client.messages.create(**asked(user("Hello.")), stop_sequences=["a"])
        async with programs.anthropic("angelia_wrong") as stranger:
            with pytest.raises(anthropic.AuthenticationError):
                await stranger.messages.create(**asked(user("Hello.")))
        assert len(model.requests) == 1
