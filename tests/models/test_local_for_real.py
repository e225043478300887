"""The embedded model, for real: everything here runs offline on the shipped weights."""

import asyncio
import struct
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import cast

import msgspec
import pytest

from angelia.context.request import (
    RequestMessage,
    Role,
)
from angelia.core.content import Text, ToolCall
from angelia.core.entry import StopReason
from angelia.core.errors import ModelError
from angelia.core.failure import FailureKind
from angelia.models.local.chat import chat_beginning, introduction
from angelia.models.local.engine import ANSWERING, DECIDING, LlamaEngine, LocalModel
from angelia.models.local.provider import LocalProvider, local_profile
from angelia.models.local.steps import static_chat
from angelia.models.local.weights import window_of
from angelia.models.port import Piece, TextDelta
from tests.models.local_requests import (
    ATTACHED,
    FOLDER,
    NAME,
    NOBODY,
    ask,
    header,
    reply,
    request,
    said,
    small,
    smollm2,
    the_secret,
)

pytestmark = [pytest.mark.real("local-model"), pytest.mark.soak]  # `test_setup` talks to it in every run


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all of them: what stands at the beginning of every prompt is read there once, for ten seconds."""
    return tmp_path_factory.mktemp("models")


def test_the_window_in_the_table_is_what_the_weights_say() -> None:
    assert window_of(smollm2(), FOLDER) == window_of("smollm2", FOLDER)


@pytest.mark.anyio
async def test_a_wish_about_the_folder_begins_with_a_look_at_it(models: Path) -> None:
    made = reply(await ask(models, said("What is in notes.txt?")))
    (call,) = made.parts
    assert isinstance(call, ToolCall)
    assert (call.name, msgspec.json.decode(call.arguments), made.stop) == ("read", {"path": "."}, StopReason.TOOL_CALLS)


@pytest.mark.anyio
async def test_what_it_has_read_of_its_prompts_is_there_in_the_next_life(models: Path) -> None:
    model = LocalModel(Path(smollm2()), small().window, models)
    talk = chat_beginning("Be brief and kind. " * 9, introduction("smollm2"))
    beginnings = {DECIDING: static_chat(), ANSWERING: talk}
    kept = {model.state(beginning) for beginning in beginnings.values()}
    (models / "read").mkdir(exist_ok=True)
    (models / "read" / f"{Path(smollm2()).stem}-of-an-older-version").touch()
    read = []
    for _ in range(2):  # two lives
        engine = LlamaEngine()
        for slot, beginning in beginnings.items():
            chat = [*beginning, {"role": "user", "content": "Hi"}]
            fields = {"messages": chat, "id_slot": slot, "max_tokens": 1, "stream_options": {"include_usage": True}}
            chunks = [chunk async for chunk in engine.run(model, beginnings, fields)]
            (used,) = [chunk["usage"] for chunk in chunks if chunk.get("usage")]
            read.append(used["prompt_tokens"] - used["prompt_tokens_details"]["cached_tokens"])
        assert set((models / "read").iterdir()) == kept
        for path in kept:
            assert path.stat().st_size > 100_000
            path.chmod(0o400)
    assert max(read) < 40, "what stands at the beginning of every prompt was read when the weights were loaded"


@pytest.mark.anyio
async def test_a_reply_streams_as_it_is_made(models: Path) -> None:
    pieces = await ask(models, RequestMessage(1, Role.USER, (Text("What is the password of the safe?"), ATTACHED)))
    deltas = [piece.text for piece in pieces if isinstance(piece, TextDelta)]
    made = reply(pieces)
    assert len(deltas) > 3
    assert made.parts == (Text("".join(deltas)),)
    assert made.stop is StopReason.END
    assert made.usage.output >= len(deltas)


@pytest.mark.anyio
async def test_the_text_of_a_file_reaches_it(models: Path) -> None:
    made = reply(await ask(models, RequestMessage(1, Role.USER, (Text("What is the password of the safe?"), ATTACHED))))
    assert "mellon-42" in str(made.parts)


@pytest.mark.anyio
@pytest.mark.parametrize("script", ["0123456789!?{}", "请简短回答。"])
async def test_a_fresh_prompt_has_at_most_1500_tokens_whatever_the_instructions(script: str, models: Path) -> None:
    short = msgspec.structs.replace(request(said("Hello"), system=script * 2000, tools=()), max_output=3)
    made = reply(await collected(LocalProvider(small(), the_secret, models).session().ask(short, NOBODY)))
    assert made.usage.input <= 1500


@pytest.mark.anyio
async def test_a_fresh_decision_has_at_most_1500_tokens(models: Path) -> None:
    assert reply(await ask(models, said("What is in notes.txt?"), system="Be brief. " * 2000)).usage.input <= 1500


@pytest.mark.anyio
async def test_what_does_not_fit_the_window_fails_with_the_window_as_limit(models: Path) -> None:
    with pytest.raises(ModelError) as failed:
        await ask(models, said("word " * 9000), tools=())
    assert (failed.value.failure.kind, failed.value.failure.limit) == (FailureKind.CONTEXT_TOO_LONG, 8192)


@pytest.mark.anyio
async def test_a_limit_on_the_output_is_a_reply_cut_at_its_length(models: Path) -> None:
    session = LocalProvider(small(), the_secret, models).session()
    short = msgspec.structs.replace(request(said("Count to one hundred"), tools=()), max_output=5)
    assert reply([piece async for piece in session.ask(short, NOBODY)]).stop is StopReason.LENGTH


@pytest.mark.anyio
async def test_a_reply_that_nobody_waits_for_stops_and_the_next_one_is_whole(models: Path) -> None:
    session = LocalProvider(small(), the_secret, models).session()
    first = session.ask(request(said("Tell me a very long story"), tools=()), NOBODY)
    async with aclosing(cast("AsyncGenerator[Piece]", first)) as pieces:
        await anext(aiter(pieces))
    made = reply(await asyncio.wait_for(ask(models, said("What is 2+2?"), tools=()), 60))
    assert "4" in str(made.parts)


@pytest.mark.anyio
async def test_two_conversations_at_once_both_get_their_own_answer(models: Path) -> None:
    async def of(word: str) -> str:
        written = Text(f"The password of the safe is {word}.")
        asked = RequestMessage(1, Role.USER, (Text("What is the password of the safe?"), written))
        return str(reply(await ask(models, asked, tools=())).parts)

    apple, river = await asyncio.gather(of("apple"), of("river"))
    assert ("apple" in apple.lower(), "river" in apple.lower()) == (True, False)
    assert ("river" in river.lower(), "apple" in river.lower()) == (True, False)


@pytest.mark.anyio
async def test_weights_that_cannot_be_loaded_are_an_unknown_model(tmp_path: Path, models: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(header(NAME, ("llama.context_length", 4, struct.pack("<I", 512))))
    profile = local_profile(str(path), FOLDER)
    session = LocalProvider(profile, the_secret, models).session()
    with pytest.raises(ModelError) as failed:
        await collected(session.ask(msgspec.structs.replace(request(said("Hi"), tools=()), profile=profile), NOBODY))
    assert failed.value.failure.kind is FailureKind.UNKNOWN_MODEL


async def collected(pieces: AsyncIterator[Piece]) -> list[Piece]:
    """All of them."""
    return [piece async for piece in pieces]
