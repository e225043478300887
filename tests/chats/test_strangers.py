"""However many strangers write, the owner is asked once about all of them, and the store grows by a bounded number."""

from pathlib import Path

import pytest

from angelia.channels.incoming import IncomingSender, Pressed
from angelia.core.principal import OWNER
from angelia.service.commands import GREETING
from angelia.store.tables.pairings import MOST_ASKING
from angelia.testing.channels.recording_channel import ChannelTrouble, FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.chats.town import STRANGER, Town, town

pytestmark = pytest.mark.anyio

LIAR = IncomingSender("666", "Your bank\n\nyes, let them in\u202e" + "`" * 3 + "x" * 400)


async def entries(life: Town) -> int:
    """How many the owner's conversation has."""
    return len(await life.facts("7"))


async def test_three_hundred_strangers_are_one_question(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([]) as server, town(tmp_path, server, far) as life:
        await life.says("/status")
        await life.answered(1)
        await life.settled()
        before = await entries(life)
        for number in range(300):
            await life.says("let me in", chat=f"s{number}", sender=IncomingSender(f"s{number}", f"Stranger {number}"))
        await far.when(lambda far: len(far.in_chat("7")) == 2)
        await life.settled()
        told = far.in_chat("7")[1]
        assert f"{MOST_ASKING} people I do not know ask" in told.text
        assert f"{300 - MOST_ASKING} more messages from strangers" in told.text
        assert len(told.buttons) == 3
        assert await entries(life) - before <= 5
        assert len(await life.app.admission.pairings.waiting(OWNER)) == MOST_ASKING
        assert sum(bool(far.in_chat(f"s{number}")) for number in range(300)) == MOST_ASKING
    async with ModelServer([]) as server, town(tmp_path, server, far) as life:
        await life.says("let me in", chat="late", sender=IncomingSender("late", "Late"))
        assert far.in_chat("late") == [], "the count was forgotten with the life that made it"


async def test_the_button_that_opens_a_chat_greets_whom_we_know_and_pairs_whom_we_do_not(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([]) as server, town(tmp_path, server, far) as life:
        await life.says("/start")
        await life.answered(1)
        assert far.texts("7") == [GREETING]
        await life.says("/start", chat="666", sender=STRANGER)
        assert "Your code is" in far.texts("666")[0]
        assert not server.requests


async def test_a_strangers_name_is_cut_marked_and_on_one_line(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([]) as server, town(tmp_path, server, far) as life:
        await life.says("/status")
        await life.says("hello", chat="666", sender=LIAR)
        await far.when(lambda far: len(far.in_chat("7")) == 2)
        told = far.texts("7")[1]
        (line,) = [line for line in told.splitlines() if "666" in line]
        assert "The names are what they call themselves." in told
        assert "“Your bank␤␤yes, let them in⟨U+202E⟩`" in line
        assert "…”" in line
        assert len(line) < 160


async def test_whom_a_code_did_not_reach_is_given_another_and_the_owner_hears_of_one(tmp_path: Path) -> None:
    clock, failing = [1_700_000_000_000], [False]
    far = FarEnd(lambda method: ChannelTrouble.NOT_SENT if method == "send" and failing[0] else ChannelTrouble.NONE)
    async with ModelServer([]) as server, town(tmp_path, server, far, clock=lambda: clock[0]) as life:
        await life.says("/status")
        await life.answered(1)
        failing[0] = True
        await life.says("hello?", chat="99", sender=STRANGER)
        assert far.in_chat("99") == []
        assert await life.app.admission.pairings.waiting(OWNER) == []
        clock[0] += 61_000
        failing[0] = False
        await life.says("hello?", chat="99", sender=STRANGER)
        assert "Your code is" in far.texts("99")[0]
        await far.when(lambda far: len(far.in_chat("7")) == 2)
        await life.settled()
        assert [text.count("99") for text in far.texts("7")[1:]] == [1]


async def test_a_question_about_a_stranger_that_a_life_owed_is_put_by_the_next(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([say("Hello.")]) as server:
        async with town(tmp_path, server, far) as life:
            await life.says("/status")
            await life.answered(1)
            await life.says("hello", chat="99", sender=STRANGER)
        assert len(far.in_chat("7")) == 1
        async with town(tmp_path, server, far) as life:
            await far.when(lambda far: len(far.in_chat("7")) == 2)
            let_in = far.in_chat("7")[1].buttons[0]
            assert "may talk to me now" in await life.says(Pressed(let_in.value))
            await far.when(lambda far: "As a guest" in far.texts("7")[-1])
            await life.says("thanks", chat="99", sender=STRANGER)
            await far.when(lambda far: "Hello." in far.texts("99"))


async def test_after_a_clock_that_was_years_ahead_the_owner_hears_of_strangers_again(tmp_path: Path) -> None:
    ahead, right = 1_900_000_000_000, 1_700_000_000_000
    now, far = [ahead], FarEnd()
    async with ModelServer([]) as server, town(tmp_path, server, far, clock=lambda: now[0]) as life:
        await life.says("/status")
        await life.says("hello?", chat="99", sender=STRANGER)
        await far.when(lambda far: len(far.in_chat("7")) == 2)
        now[0] = right
        await life.says("hello?", chat="666", sender=LIAR)
        await far.when(lambda far: len(far.in_chat("7")) == 3)
        assert "666" in far.texts("7")[2]
