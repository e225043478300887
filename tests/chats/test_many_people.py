"""More people than a process may have open files: each is answered."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.service.chats.sessions import most_open
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.chats.town import town

pytestmark = pytest.mark.anyio
LIMIT = 256


@pytest.fixture
def few_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


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


def test_how_many_stay_open_follows_from_what_the_process_may_have(few_files: None) -> None:
    assert most_open() == 39
    resource.setrlimit(resource.RLIMIT_NOFILE, (50, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    assert most_open() == 1
