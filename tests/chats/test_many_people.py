"""More people than a process may have open files: each is answered."""

import asyncio
import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.errors import StoreError
from angelia.service.chats.sessions import most_open
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.chats.town import town

pytestmark = pytest.mark.anyio
LIMIT = 256


@pytest.fixture
def few_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.soak
async def test_with_256_open_files_three_hundred_people_are_answered(tmp_path: Path, few_files: None) -> None:
    people = LIMIT + 44
    far = FarEnd()
    async with ModelServer(lambda _: say("Good morning.")) as server, town(tmp_path, server, far) as life:
        for number in range(people):
            await life.says("hello?", chat=f"{number}")
            assert await life.answered(1, chat=f"{number}") == ["Good morning."]
        await life.says("still there?", chat="0")
        assert await life.answered(2, chat="0") == ["Good morning.", "Good morning."]
        assert len(life.gateway.chat_sessions.open_sessions()) <= most_open()


async def test_conversations_that_rest_hold_no_file_open_whatever_they_ran(tmp_path: Path) -> None:
    def answer(request: ReceivedRequest) -> Step:
        return say("Done.") if request.heard.messages[-1].role == "tool" else call("shell", {"command": "echo done"})

    far, held = FarEnd(), dict[int, int]()
    async with ModelServer(answer) as server, town(tmp_path, server, far) as life:
        for number in range(1, 31):
            await life.says("run it", chat=f"{number}")
            assert await life.answered(1, chat=f"{number}") == ["Done."]
            held[number] = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a link to a pipe leads to no path
        assert len(life.gateway.chat_sessions.open_sessions()) == 30
    assert max(held.values()) < min(held.values()) + 10


def test_how_many_stay_open_follows_from_what_the_process_may_have(few_files: None) -> None:
    assert most_open() == 39
    resource.setrlimit(resource.RLIMIT_NOFILE, (50, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    assert most_open() == 1


async def test_with_no_file_to_open_nobody_is_lost_and_afterwards_everybody_is_answered(
    tmp_path: Path, few_files: None
) -> None:
    far = FarEnd()
    async with ModelServer(lambda _: say("Good morning.")) as server, town(tmp_path, server, far) as life:
        await life.says("hello?", chat="0")
        assert await life.answered(1, chat="0") == ["Good morning."]
        with ExitStack() as held:
            with suppress(OSError):
                for _ in range(LIMIT):
                    held.enter_context(Path("/dev/null").open("rb"))
            for number in range(1, 3):
                with pytest.raises(StoreError, match="No more files"):  # not acknowledged, and so it is brought again
                    await life.says("hello?", chat=f"{number}", key=f"key {number}")
        for number in range(1, 3):
            await life.says("hello?", chat=f"{number}", key=f"key {number}")
        for number in range(1, 3):
            assert await life.answered(1, chat=f"{number}") == ["Good morning."]
            keys = [fact.key for fact in await life.facts(f"{number}") if isinstance(fact, e.UserSaid)]
            assert keys == [f"key {number}"]
        await life.says("and now?", chat="0")
        await far.when(lambda far: far.texts("0")[-1:] == ["Good morning."])


async def test_where_one_conversation_may_stay_open_those_who_speak_at_once_are_answered_each(
    tmp_path: Path, few_files: None
) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    assert most_open() == 1
    far, people = FarEnd(), [str(number) for number in range(6)]
    async with ModelServer(lambda _: say("Good morning.")) as server, town(tmp_path, server, far) as life:
        for heard in (1, 2, 3):
            await asyncio.gather(*(life.says("hello?", chat=chat) for chat in people))
            for chat in people:
                assert await life.answered(heard, chat=chat) == ["Good morning."] * heard
